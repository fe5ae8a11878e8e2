import { installationChain } from '../governance/audit/chain.ts'
import { findChain, findEntry } from '../governance/audit/store.ts'
import type { Db } from '../platform/db/db.ts'

/** The latest of the times that servers have noted: their last event and their last readiness probe. Null if there is none. */
export async function readLatestTime(db: Db): Promise<string | null> {
  const chain = await findChain(db, installationChain)
  const entry = chain && (await findEntry(db, installationChain, chain.seq))
  const probe = await db
    .selectFrom('instance')
    .select('value')
    .where('name', '=', 'probed_at')
    .executeTakeFirst()
  const times = [entry?.created_at, probe?.value.trim()].filter((time) => time !== undefined)
  return times.sort().at(-1) ?? null
}
