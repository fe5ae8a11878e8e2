import type { Db } from '../../src/db/db.ts'
import type { GenerationTable } from '../../src/db/schema.ts'
import { growingHex } from '../../src/lib/ids.ts'
import { blank } from './generations.ts'
import type { Tenant } from './harness.ts'

/** A generation that nothing special is known about. */
export function generation(
  { organization, workspace }: Tenant,
  change: Partial<GenerationTable> & Pick<GenerationTable, 'created_at'>,
): GenerationTable {
  return {
    ...blank,
    id: `gen-${growingHex()}`,
    organization_id: organization.id,
    workspace_id: workspace.id,
    key_id: 1,
    ended_at: change.created_at,
    native_finish_reason: null,
    tokens_input: 0,
    tokens_output: 0,
    cost_nanos: 0n,
    upstream_cost_nanos: 0n,
    latency_ms: 100,
    ...change,
  }
}

/** As a settlement leaves them. */
export async function insertGenerations(db: Db, rows: readonly GenerationTable[]): Promise<void> {
  for (let at = 0; at < rows.length; at += 200) {
    const some = rows.slice(at, at + 200)
    await db.insertInto('generations').values(some).execute()
    const unrolled = some.map(({ id, organization_id }) => ({ generation_id: id, organization_id }))
    await db.insertInto('unrolled_generations').values(unrolled).execute()
  }
}

/** The same numbers for the same seed. */
export function diceOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 48_271) % 2_147_483_647
    return Math.floor((state / 2_147_483_647) * below)
  }
}
