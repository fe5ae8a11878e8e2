import { type Kysely, sql } from 'kysely'
import { firstIdOf, formatMonth, lastId, type Month, monthBeginningWith } from './months.ts'

/** A table whose rows belong to a generation, and the column with its id. */
export interface MonthlyTable {
  name: string
  key: string
}

/** The tables that PostgreSQL stores by month. They are partitioned by the id, which begins with the time. */
export const monthlyTables: readonly MonthlyTable[] = [
  { name: 'generations', key: 'id' },
  { name: 'generation_lines', key: 'generation_id' },
  { name: 'generation_contents', key: 'generation_id' },
]

/** The partitions exist for the month that begins and for this many after it. */
export const monthsAhead = 2

/** A table with the rows of a range of ids. */
export interface Partition {
  name: string
  from: string
  /** Exclusive. */
  to: string
}

/** The months of a partitioned table, and what covers the ids around them. */
export interface PartitionedTable {
  months: (Partition & { month: Month })[]
  /** Ids from the first of all months up to the first that is still stored; null before a month was dropped. */
  earlier: Partition | null
  /** Ids after the last month. */
  later: Partition
}

type AnyDb = Kysely<unknown>

/** A statement that waits longer for a lock fails: what waits behind it waits as long. */
const lockTimeoutMs = 1000

/** A transaction whose statements wait a limited time for their locks. */
export function changeTables<T>(db: AnyDb, work: (tx: AnyDb) => Promise<T>): Promise<T> {
  return db.transaction().execute(async (tx) => {
    await sql`set local lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(tx)
    return work(tx)
  })
}

export async function isPartitioned(db: AnyDb, table: string): Promise<boolean> {
  const { rows } =
    await sql`select 1 from pg_class where oid = to_regclass(${table}) and relkind = 'p'`.execute(db)
  return rows.length > 0
}

/** Null if the table is not partitioned. */
export async function readPartitions(db: AnyDb, table: string): Promise<PartitionedTable | null> {
  const { rows } = await sql<{ name: string; bounds: string }>`select relname as name,
      pg_get_expr(relpartbound, pg_class.oid) as bounds
    from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = to_regclass(${table}) and relispartition`.execute(db)
  const partitions = rows.flatMap(({ name, bounds }) => {
    const [, from, to] = /^FOR VALUES FROM \('(.*)'\) TO \('(.*)'\)$/.exec(bounds) ?? []
    return from === undefined || to === undefined ? [] : [{ name, from, to }]
  })
  const named = (suffix: string) => partitions.find(({ name }) => name === `${table}_${suffix}`)
  const later = named('later')
  if (!later) return null
  const earlier = named('earlier') ?? null
  const months = partitions
    .filter((partition) => partition !== later && partition !== earlier)
    .flatMap((partition) => {
      const month = monthBeginningWith(partition.from)
      return month === null ? [] : [{ ...partition, month }]
    })
  return { months: months.sort((a, b) => a.month - b.month), earlier, later }
}

/** Ids that no partition covers are in the table that was there before, which is the default partition. */
export function describeUncovered(key: string, from: Month) {
  return sql`${sql.ref(key)} < ${sql.lit(firstIdOf(from))} or ${sql.ref(key)} >= ${sql.lit(lastId)}`
}

export function boundName({ name }: MonthlyTable): string {
  return `${name}_before_bound`
}

/**
 * Replaces a table by a partitioned one with the same columns, indexes and name. The table becomes its default
 * partition, which has the ids before the month: nothing is copied, and a validated check on it saves the scan. The
 * transaction holds the lock of the table for some milliseconds.
 */
export async function partitionTable(tx: AnyDb, table: MonthlyTable, from: Month): Promise<void> {
  const { name, key } = table
  const before = `${name}_before`
  await sql`lock table ${sql.table(name)} in access exclusive mode`.execute(tx)
  const indexes = await readIndexes(tx, name)
  const references = await readReferences(tx, name)
  await sql`alter table ${sql.table(name)} rename to ${sql.table(before)}`.execute(tx)
  for (const index of indexes)
    await sql`alter index ${sql.table(index.name)} rename to ${sql.table(`${index.name}_before`)}`.execute(tx)
  await sql`create table ${sql.table(name)} (like ${sql.table(before)} including defaults)
    partition by range (${sql.ref(key)})`.execute(tx)
  for (const { name: index, primaryKey, definition } of indexes) {
    if (primaryKey)
      await sql`alter table ${sql.table(name)} add constraint ${sql.ref(index)} ${sql.raw(primaryKey)}`.execute(
        tx,
      )
    else await sql.raw(definition).execute(tx)
  }
  for (const definition of references)
    await sql`alter table ${sql.table(name)} add ${sql.raw(definition)}`.execute(tx)
  const last = from + monthsAhead
  for (let month = from; month <= last; month++) await createMonth(tx, name, month)
  await createPartition(tx, name, 'later', firstIdOf(last + 1), lastId)
  await sql`alter table ${sql.table(name)} attach partition ${sql.table(before)} default`.execute(tx)
}

interface Index {
  name: string
  definition: string
  /** The definition of the constraint, if it is the primary key. */
  primaryKey: string | null
}

async function readIndexes(tx: AnyDb, table: string): Promise<Index[]> {
  const { rows } = await sql<Index>`select relname as name, pg_get_indexdef(indexrelid) as definition,
      (select pg_get_constraintdef(oid) from pg_constraint where conindid = indexrelid and contype = 'p') as "primaryKey"
    from pg_index join pg_class on pg_class.oid = indexrelid
    where indrelid = to_regclass(${table}) order by relname`.execute(tx)
  return rows
}

async function readReferences(tx: AnyDb, table: string): Promise<string[]> {
  const { rows } = await sql<{ definition: string }>`select pg_get_constraintdef(oid) as definition
    from pg_constraint where conrelid = to_regclass(${table}) and contype = 'f'`.execute(tx)
  return rows.map(({ definition }) => definition)
}

function createMonth(tx: AnyDb, table: string, month: Month): Promise<void> {
  return createPartition(tx, table, formatMonth(month), firstIdOf(month), firstIdOf(month + 1))
}

async function createPartition(
  tx: AnyDb,
  table: string,
  suffix: string,
  from: string,
  to: string,
): Promise<void> {
  await sql`create table ${sql.table(`${table}_${suffix}`)} partition of ${sql.table(table)}
    for values from (${sql.lit(from)}) to (${sql.lit(to)})`.execute(tx)
}

/** Adds the partitions up to this month. Rows that came before their partition are moved to it. */
export async function addMonths(tx: AnyDb, table: string, until: Month): Promise<void> {
  const partitions = await readPartitions(tx, table)
  const last = partitions?.months.at(-1)
  if (!partitions || !last || last.month >= until) return
  await replacePartition(tx, table, partitions.later, async () => {
    for (let month = last.month + 1; month <= until; month++) await createMonth(tx, table, month)
    await createPartition(tx, table, 'later', firstIdOf(until + 1), partitions.later.to)
  })
}

/** Drops the months before this one. Requests that are recorded later still, from an interrupted node, have a place. */
export async function dropMonths(tx: AnyDb, table: string, until: Month): Promise<void> {
  const partitions = await readPartitions(tx, table)
  const dropped = partitions?.months.filter(({ month }) => month < until) ?? []
  const [first] = dropped
  const last = dropped.at(-1)
  if (!partitions || !first || !last) return
  for (const { name } of dropped) await sql`drop table ${sql.table(name)}`.execute(tx)
  await replacePartition(tx, table, partitions.earlier, () =>
    createPartition(tx, table, 'earlier', partitions.earlier?.from ?? first.from, last.to),
  )
}

/** Replaces a partition by those that `create` creates, and moves its rows to them: few, or none. */
async function replacePartition(
  tx: AnyDb,
  table: string,
  old: Partition | null,
  create: () => Promise<void>,
): Promise<void> {
  if (!old) return create()
  const spare = `${old.name}_spare`
  await sql`alter table ${sql.table(table)} detach partition ${sql.table(old.name)}`.execute(tx)
  await sql`alter table ${sql.table(old.name)} rename to ${sql.table(spare)}`.execute(tx)
  await create()
  await sql`insert into ${sql.table(table)} select * from ${sql.table(spare)}`.execute(tx)
  await sql`drop table ${sql.table(spare)}`.execute(tx)
}
