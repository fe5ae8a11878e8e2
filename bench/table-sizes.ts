import { sql } from 'kysely'
import type { Db } from '../src/platform/db/db.ts'

interface Part {
  /** The table that it belongs to; the months of one are summed. */
  owner: string
  /** `rows`, `long values`, or the index. */
  part: string
  bytes: number
}

interface Sizes {
  generations: number
  parts: Part[]
}

/** The tables with rows for each generation, and those whose rows follow from them. */
const tables = [
  'generations',
  'generation_%',
  'unrolled_generations',
  'ledger_entries',
  'guardrail_hits',
  'routing_plans',
  'usage_%',
]

/** Vacuumed first: what a busy table has reserved is not what it takes. */
export async function measureSizes(db: Db): Promise<Sizes> {
  await sql`vacuum (analyze)`.execute(db)
  const { rows } = await sql<Part & { bytes: bigint }>`
    with recursive family as (
      select oid, oid as root from pg_class
      where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace
        and relname like any (array[${sql.join(tables)}])
      union all
      select inhrelid, root from family join pg_inherits on inhparent = family.oid
    ), parts as (
      select root, 'rows' as part, pg_relation_size(oid) as bytes from family
      union all
      select root, 'long values', pg_total_relation_size(reltoastrelid)
      from family join pg_class using (oid) where reltoastrelid <> 0
      union all
      select root, 'index (' || (select string_agg(pg_get_indexdef(indexrelid, n, true), ', ') from generate_series(1, indnkeyatts) n) || ')'
        || case when indpred is null then '' else ' where ...' end, pg_relation_size(indexrelid)
      from family join pg_index on indrelid = family.oid
    )
    select cast(cast(root as regclass) as text) as owner, part, cast(sum(bytes) as bigint) as bytes
    from parts group by 1, 2 having sum(bytes) > 0 order by 1, 2 desc`.execute(db)
  const { count } = await db
    .selectFrom('generations')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return { generations: Number(count), parts: rows.map((row) => ({ ...row, bytes: Number(row.bytes) })) }
}

export function formatSizes({ generations, parts }: Sizes): string {
  const line = (name: string, bytes: number) =>
    `${name.padEnd(70)} ${(bytes / generations).toFixed(1).padStart(8)}\n`
  const total = parts.reduce((sum, { bytes }) => sum + bytes, 0)
  return [
    `${generations} generations, bytes of each:\n`,
    ...parts.map(({ owner, part, bytes }) => line(`${owner}: ${part}`, bytes)),
    line('total', total),
  ].join('')
}
