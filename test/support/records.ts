import { newTimeOrderedHex } from '../../src/platform/crypto/ids.ts'
import type { Db } from '../../src/platform/db/db.ts'
import type { GenerationTable } from '../../src/platform/db/generation-table.ts'
import { blankGeneration } from './generations.ts'
import type { Tenant } from './harness.ts'

/** A generation with default values. */
export function buildGeneration(
  { organization, workspace }: Tenant,
  change: Partial<GenerationTable> & Pick<GenerationTable, 'created_at'>,
): GenerationTable {
  return {
    ...blankGeneration,
    id: `gen-${newTimeOrderedHex()}`,
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

/** Inserts generations like a settlement. */
export async function insertGenerations(db: Db, rows: readonly GenerationTable[]): Promise<void> {
  for (let at = 0; at < rows.length; at += 200) {
    const batch = rows.slice(at, at + 200)
    await db.insertInto('generations').values(batch).execute()
    const unrolled = batch.map(({ id, organization_id }) => ({ generation_id: id, organization_id }))
    await db.insertInto('unrolled_generations').values(unrolled).execute()
  }
}

/** Seeded random integers. */
export function seededDice(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 48_271) % 2_147_483_647
    return Math.floor((state / 2_147_483_647) * below)
  }
}
