import { type Kysely, sql } from 'kysely'
import { type Db, isPostgres } from '../db.ts'
import { startOfMonth } from './months.ts'
import { changeTables, dropMonths, type Partition, readPartitions } from './partitions.ts'

/** Ids of generations. */
export interface IdRange {
  from: string
  /** Exclusive. */
  to: string
}

export interface MonthRetention {
  /** Dropped together: the first one decides. */
  tables: readonly [string, ...string[]]
  /** Column of the first table: rows with an earlier time are expired. */
  column: string
  until: string
  /** Whether rows of these ids are still needed. */
  isNeeded?: (tx: Db, ids: IdRange) => Promise<boolean>
  /** Deletes rows of other tables that belong to these ids, before they are dropped. */
  deleteOthers?: (ids: IdRange) => Promise<void>
}

/** Drops the months that have only expired rows. Returns how many. */
export async function dropExpiredMonths(db: Db, retention: MonthRetention): Promise<number> {
  if (!isPostgres(db)) return 0
  const partitions = await readPartitions(db as Kysely<unknown>, retention.tables[0])
  let dropped = 0
  // The last one shows where the next month begins.
  for (const partition of partitions?.months.slice(0, -1) ?? []) {
    if (new Date(startOfMonth(partition.month + 1)).toISOString() > retention.until) break
    if (!(await isExpired(db, partition, retention))) break
    await retention.deleteOthers?.(partition)
    const isDropped = await changeTables(db as Kysely<unknown>, async (tx) => {
      await sql`lock table ${sql.table(retention.tables[0])} in access exclusive mode`.execute(tx)
      if (!(await isExpired(tx as unknown as Db, partition, retention))) return false
      for (const table of retention.tables) await dropMonths(tx, table, partition.month + 1)
      return true
    })
    if (!isDropped) break
    dropped++
  }
  return dropped
}

async function isExpired(
  db: Db,
  partition: Partition,
  { column, until, isNeeded }: MonthRetention,
): Promise<boolean> {
  const { rows } = await sql`select 1 from ${sql.table(partition.name)}
    where ${sql.ref(column)} >= ${until} limit 1`.execute(db)
  return rows.length === 0 && !(await isNeeded?.(db, partition))
}

/** The ids that are dropped by month; null where rows are only deleted. */
export async function readMonthlyIds(db: Db, table: string): Promise<IdRange | null> {
  const partitions = isPostgres(db) ? await readPartitions(db as Kysely<unknown>, table) : null
  const first = partitions?.months[0]
  return partitions && first ? { from: first.from, to: partitions.later.to } : null
}
