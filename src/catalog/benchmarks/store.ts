import { sql } from 'kysely'
import { type Db, runInSnapshot } from '../../platform/db/db.ts'
import { runInSlices } from '../../platform/time/time-slicer.ts'
import {
  type BenchmarkResult,
  formatResultKey,
  fromRow,
  type ResultKey,
  type ResultRow,
  toRow,
} from './result.ts'

export interface StoredResults {
  version: number
  results: BenchmarkResult[]
}

/** The effect of new results on the stored ones. */
export interface SaveSummary {
  added: number
  updated: number
  unchanged: number
  /** A newer score is stored. */
  outdated: number
}

/** More runs of one benchmark than this are not kept. */
const maxRuns = 100
const rowsPerStatement = 200

/** Increases with every change, on any node. */
export async function readBenchmarksVersion(db: Db): Promise<number> {
  const { value } = await db
    .selectFrom('instance')
    .select('value')
    .where('name', '=', 'benchmarks_version')
    .executeTakeFirstOrThrow()
  return Number(value)
}

export async function readResults(db: Db): Promise<StoredResults> {
  const { version, rows } = await runInSnapshot(db, async (tx) => ({
    version: await readBenchmarksVersion(tx),
    rows: await tx.selectFrom('benchmark_results').selectAll().execute(),
  }))
  return { version, results: await runInSlices(parseRows(rows)) }
}

function* parseRows(rows: readonly ResultRow[]): Generator<void, BenchmarkResult[]> {
  const results: BenchmarkResult[] = []
  for (const row of rows) {
    results.push(fromRow(row))
    yield
  }
  return results
}

/** A score is replaced unless the stored one is newer. Saving the same results again changes nothing. */
export function saveResults(db: Db, results: readonly BenchmarkResult[]): Promise<SaveSummary> {
  return inTransaction(db, async (tx) => {
    await incrementVersion(tx)
    const stored = await readStored(tx, results)
    const summary: SaveSummary = { added: 0, updated: 0, unchanged: 0, outdated: 0 }
    const changed = results.filter((result) => {
      const outcome = compare(result, stored.get(formatResultKey(result)))
      summary[outcome] += 1
      return outcome === 'added' || outcome === 'updated'
    })
    await writeResults(tx, changed)
    for (const run of changed) if (run.runId !== '') await deleteOldRuns(tx, run)
    return summary
  })
}

function inTransaction<T>(db: Db, work: (tx: Db) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db) : db.transaction().execute(work)
}

/** Serializes changes: the update locks the row of the version. */
async function incrementVersion(tx: Db): Promise<void> {
  await tx
    .updateTable('instance')
    .set({ value: sql<string>`cast(cast(value as bigint) + 1 as text)` })
    .where('name', '=', 'benchmarks_version')
    .execute()
}

async function readStored(
  tx: Db,
  results: readonly BenchmarkResult[],
): Promise<Map<string, BenchmarkResult>> {
  const sources = [...new Set(results.map(({ source }) => source))]
  if (sources.length === 0) return new Map()
  const rows = await tx.selectFrom('benchmark_results').selectAll().where('source', 'in', sources).execute()
  return new Map(rows.map((row) => [formatResultKey(fromRow(row)), fromRow(row)]))
}

function compare(result: BenchmarkResult, stored: BenchmarkResult | undefined): keyof SaveSummary {
  if (!stored) return 'added'
  if (stored.measuredAt > result.measuredAt) return 'outdated'
  const importedAt = stored.importedAt
  return Bun.deepEquals(toRow({ ...result, importedAt }), toRow(stored)) ? 'unchanged' : 'updated'
}

async function writeResults(tx: Db, results: readonly BenchmarkResult[]): Promise<void> {
  for (let start = 0; start < results.length; start += rowsPerStatement) {
    const rows = results.slice(start, start + rowsPerStatement).map(toRow)
    await tx
      .insertInto('benchmark_results')
      .values(rows)
      .onConflict((conflict) =>
        conflict
          .columns(['source', 'benchmark', 'model', 'endpoint', 'variant', 'run_id'])
          .doUpdateSet((eb) => ({
            display_name: eb.ref('excluded.display_name'),
            score: eb.ref('excluded.score'),
            deviation: eb.ref('excluded.deviation'),
            cost_nanos: eb.ref('excluded.cost_nanos'),
            latency_ms: eb.ref('excluded.latency_ms'),
            tasks: eb.ref('excluded.tasks'),
            measured_at: eb.ref('excluded.measured_at'),
            details: eb.ref('excluded.details'),
            source_url: eb.ref('excluded.source_url'),
            imported_at: eb.ref('excluded.imported_at'),
          })),
      )
      .execute()
  }
}

/** A run of this installation, as its scores describe it. */
export interface StoredRun {
  runId: string
  benchmark: string
  measuredAt: string
  models: string[]
  tasks: number
  correct: number
  costNanos: bigint
}

/** The newest first. */
export async function listRuns(db: Db): Promise<StoredRun[]> {
  const rows = await db
    .selectFrom('benchmark_results')
    .selectAll()
    .where('source', '=', 'service')
    .where('run_id', '!=', '')
    .orderBy('measured_at', 'desc')
    .orderBy('model')
    .execute()
  return [...Map.groupBy(rows.map(fromRow), ({ runId }) => runId).values()].flatMap((results) => {
    const [first] = results
    return first ? [toStoredRun(first, results)] : []
  })
}

function toStoredRun(first: BenchmarkResult, results: readonly BenchmarkResult[]): StoredRun {
  const tasksOf = (result: BenchmarkResult) => result.tasks ?? 0
  const sum = (read: (result: BenchmarkResult) => number) =>
    results.reduce((total, result) => total + read(result), 0)
  return {
    runId: first.runId,
    benchmark: first.benchmark,
    measuredAt: first.measuredAt,
    models: results.map(({ model }) => model),
    tasks: sum(tasksOf),
    correct: sum((result) => Math.round(result.score * tasksOf(result))),
    costNanos: results.reduce(
      (total, result) => total + (result.costNanos ?? 0n) * BigInt(tasksOf(result)),
      0n,
    ),
  }
}

/** The number of scores that were deleted. */
export async function deleteRun(tx: Db, runId: string): Promise<number> {
  if (runId === '') return 0
  const { numDeletedRows } = await tx
    .deleteFrom('benchmark_results')
    .where('source', '=', 'service')
    .where('run_id', '=', runId)
    .executeTakeFirst()
  if (numDeletedRows > 0n) await incrementVersion(tx)
  return Number(numDeletedRows)
}

async function deleteOldRuns(tx: Db, { source, benchmark, model, endpoint, variant }: ResultKey) {
  const old = await tx
    .selectFrom('benchmark_results')
    .select('run_id')
    .where('source', '=', source)
    .where('benchmark', '=', benchmark)
    .where('model', '=', model)
    .where('endpoint', '=', endpoint)
    .where('variant', '=', variant)
    .orderBy('measured_at', 'desc')
    .orderBy('run_id', 'desc')
    .offset(maxRuns)
    .limit(maxRuns)
    .execute()
  if (old.length === 0) return
  await tx
    .deleteFrom('benchmark_results')
    .where('source', '=', source)
    .where('benchmark', '=', benchmark)
    .where('model', '=', model)
    .where('endpoint', '=', endpoint)
    .where('variant', '=', variant)
    .where(
      'run_id',
      'in',
      old.map(({ run_id }) => run_id),
    )
    .execute()
}
