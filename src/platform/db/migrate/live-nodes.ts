import { type Kysely, sql } from 'kysely'
import { hasTable } from '../has-table.ts'

export interface LiveNode {
  id: string
  ageMs: number
  /** The last migration that it knows; null for a version that did not record it. */
  schema: string | null
}

/** The nodes whose last heartbeat is younger than `nodeTimeoutMs` by the clock of the database, which all nodes share. */
export async function listLiveNodes(db: Kysely<unknown>, nodeTimeoutMs: number): Promise<LiveNode[]> {
  if (!(await hasTable(db, 'nodes'))) return []
  // A column of a later version is read as JSON: it may not exist yet.
  const { rows } = await sql<{
    id: string
    age_ms: number
    schema: string | null
  }>`select id, age_ms, schema from (
      select id, (extract(epoch from clock_timestamp() - cast(seen_at as timestamptz)) * 1000)::bigint as age_ms,
        to_jsonb(nodes) ->> 'schema' as schema
      from nodes) as heartbeats
    where abs(age_ms) < ${nodeTimeoutMs} order by age_ms`.execute(db)
  return rows.map(({ id, age_ms, schema }) => ({ id, ageMs: Number(age_ms), schema }))
}

/** The node that does not know a migration, if there is one. */
export function findEarlierNode(nodes: readonly LiveNode[], migration: string): LiveNode | undefined {
  return nodes.find(({ schema }) => schema === null || schema < migration)
}
