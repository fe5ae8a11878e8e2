import { type Kysely, sql } from 'kysely'
import { closeDb, type Db, isPostgres, openDb } from '../db.ts'
import { type Month, monthBeginningWith, monthOf, startOfMonth } from './months.ts'
import {
  addMonths,
  boundName,
  changeTables,
  describeUncovered,
  isPartitioned,
  type MonthlyTable,
  monthlyTables,
  monthsAhead,
  partitionTable,
  readPartitions,
} from './partitions.ts'

/** A table with rows keeps those of this many days to come: checking the present ones takes minutes. */
const boundAheadDays = 32
/** A check that has not ended this long before its bound is given up: beyond it the table takes no rows. */
const minAheadDays = 2
const dayMs = 86_400_000

/** Attempts to lock a table. Requests that need the table wait behind each of them. The next run tries again. */
const maxAttempts = 5
const betweenAttemptsMs = 2000

/** Stores the tables of an earlier version by month, and adds the months to come. Only on PostgreSQL. */
export async function maintainMonths(db: Db, url: string, now: number): Promise<void> {
  if (!isPostgres(db)) return
  const tables = db as Kysely<unknown>
  for (const table of monthlyTables) {
    if (await isPartitioned(tables, table.name)) await addComingMonths(tables, table, now)
    else await partitionInBackground(tables, url, table, now)
  }
}

async function addComingMonths(db: Kysely<unknown>, { name }: MonthlyTable, now: number): Promise<void> {
  const until = monthOf(now) + monthsAhead
  const last = (await readPartitions(db, name))?.months.at(-1)
  if (!last || last.month >= until) return
  await changeWithRetries(db, (tx) => addMonths(tx, name, until))
}

/**
 * In steps that hold a lock for some milliseconds each, apart from the check of the rows, which no query waits for. An
 * interrupted run is continued by the next.
 */
async function partitionInBackground(
  db: Kysely<unknown>,
  url: string,
  table: MonthlyTable,
  now: number,
): Promise<void> {
  let bound = await readBound(db, table)
  if (bound && startOfMonth(bound.month) < now + minAheadDays * dayMs) {
    await removeBound(db, table)
    bound = null
  }
  const month = bound?.month ?? monthOf(now + boundAheadDays * dayMs) + 1
  if (!bound) await addBound(db, table, month)
  if (!bound?.isValid) await checkBound(db, url, table)
  await changeWithRetries(db, async (tx) => {
    // Another node may have been faster.
    if (!(await isPartitioned(tx, table.name))) await partitionTable(tx, table, month)
  })
}

interface Bound {
  /** The table has no rows of it, nor of later months. */
  month: Month
  isValid: boolean
}

async function readBound(db: Kysely<unknown>, table: MonthlyTable): Promise<Bound | null> {
  const { rows } = await sql<{ definition: string; isValid: boolean }>`
    select pg_get_constraintdef(oid) as definition, convalidated as "isValid" from pg_constraint
    where conrelid = to_regclass(${table.name}) and conname = ${boundName(table)}`.execute(db)
  const [row] = rows
  const month = monthBeginningWith(/< '(gen-[0-9a-f]+)'/.exec(row?.definition ?? '')?.[1] ?? '')
  return row && month !== null ? { month, isValid: row.isValid } : null
}

async function addBound(db: Kysely<unknown>, table: MonthlyTable, month: Month): Promise<void> {
  await changeWithRetries(db, async (tx) => {
    await sql`alter table ${sql.table(table.name)} add constraint ${sql.ref(boundName(table))}
      check (${describeUncovered(table.key, month)}) not valid`.execute(tx)
  })
}

async function removeBound(db: Kysely<unknown>, table: MonthlyTable): Promise<void> {
  await changeWithRetries(db, async (tx) => {
    const constraint = sql.ref(boundName(table))
    await sql`alter table ${sql.table(table.name)} drop constraint if exists ${constraint}`.execute(tx)
  })
}

/** Reads every row, on a connection without a time limit. */
async function checkBound(db: Kysely<unknown>, url: string, table: MonthlyTable): Promise<void> {
  const connection = openDb(url, { queryTimeoutMs: null, poolSize: 1 })
  try {
    const constraint = sql.ref(boundName(table))
    await sql`alter table ${sql.table(table.name)} validate constraint ${constraint}`.execute(connection)
  } catch (error) {
    await removeBound(db, table)
    throw error
  } finally {
    await closeDb(connection)
  }
}

/** Repeats a change whose table is locked by others for a while. */
async function changeWithRetries(
  db: Kysely<unknown>,
  change: (tx: Kysely<unknown>) => Promise<void>,
): Promise<void> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await changeTables(db, change)
    } catch (error) {
      if (attempts === maxAttempts || !isLockTimeout(error)) throw error
      await Bun.sleep(betweenAttemptsMs)
    }
  }
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && (error as { errno?: unknown }).errno === '55P03'
}
