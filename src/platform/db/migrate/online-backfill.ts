import { type Kysely, sql } from 'kysely'
import { readPosition, recordStep, type StepRecord } from './record.ts'
import type { Step } from './steps.ts'

/** Time that a batch should take: its row locks last as long. */
const batchMs = { min: 50, max: 200 }
const batchRows = { first: 500, min: 50, max: 10_000 }

export interface BackfillContext {
  record: StepRecord
  transact: <T>(work: (tx: Kysely<unknown>) => Promise<T>) => Promise<T>
  report: (detail: string) => void
  assertLocked: () => Promise<void>
}

/**
 * Changes rows batch by batch. The position is stored in the transaction of its batch, so none runs twice. It rests as
 * long as it works, for the requests that need the database.
 */
export async function runBackfillOnline(
  db: Kysely<unknown>,
  step: Extract<Step, { kind: 'backfill' }>,
  { record, transact, report, assertLocked }: BackfillContext,
): Promise<void> {
  const total = await estimateRows(db, step.table)
  let { position, rows } = await readPosition(db, record.migration, record.step)
  for (let limit = batchRows.first; ; ) {
    await assertLocked()
    const startedAt = performance.now()
    const after = position
    const batch = await transact(async (tx) => {
      const result = await step.runBatch(tx, after, limit)
      const isFinished = result.after === null
      await recordStep(tx, { ...record, isFinished, position: result.after, rows: rows + result.rows })
      return result
    })
    rows += batch.rows
    report(`${formatCount(rows)} of about ${formatCount(Math.max(rows, total))} rows`)
    if (batch.after === null) return
    position = batch.after
    const ms = performance.now() - startedAt
    limit = adjustLimit(limit, ms)
    await Bun.sleep(ms)
  }
}

function adjustLimit(limit: number, ms: number): number {
  if (ms < batchMs.min) return Math.min(limit * 2, batchRows.max)
  return ms > batchMs.max ? Math.max(Math.floor(limit / 2), batchRows.min) : limit
}

/** By the statistics of the server. */
async function estimateRows(db: Kysely<unknown>, table: string): Promise<number> {
  const { rows } = await sql<{
    estimate: number
  }>`select sum(greatest(reltuples, 0))::float8 as estimate from pg_class
    where oid = to_regclass(${table}) or oid in (select inhrelid from pg_inherits where inhparent = to_regclass(${table}))`.execute(
    db,
  )
  return Math.round(rows[0]?.estimate ?? 0)
}

function formatCount(count: number): string {
  return count.toLocaleString('en')
}
