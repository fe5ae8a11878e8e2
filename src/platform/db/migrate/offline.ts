import type { Kysely } from 'kysely'
import {
  createRequiredTable,
  createStepsTable,
  listPending,
  migrationOf,
  nextSteps,
  readRecord,
  recordStep,
  requireMigration,
} from './record.ts'
import { buildIndex, isContract, type Step, stepsOf } from './steps.ts'

export interface OfflineTarget {
  /** The last migration to run; by default all of them. */
  upTo?: string | undefined
  /** The number of steps to run of migrations that are not to be finished. */
  unfinished?: Readonly<Record<string, number>>
}

const rowsPerBatch = 10_000

/** Runs migrations while nothing else uses the database. `tx` is a transaction: an error leaves nothing behind. */
export async function migrateOffline(
  tx: Kysely<unknown>,
  { upTo, unfinished = {} }: OfflineTarget = {},
): Promise<string[]> {
  const { offline } = listPending(await readRecord(tx))
  const first = offline.filter((name) => upTo === undefined || name <= upTo)
  if (first.length > 0) await createRequiredTable(tx)
  for (const name of first) {
    for (const step of stepsOf(migrationOf(name))) await runDeclared(tx, step)
    await requireMigration(tx, name)
  }
  const record = await readRecord(tx)
  const { expand, contract } = listPending(record)
  const rest = [...expand, ...contract].sort().filter((name) => upTo === undefined || name <= upTo)
  if (rest.length > 0) await createStepsTable(tx)
  for (const name of rest) {
    const steps = nextSteps(record, name).filter(
      (step) => step < (unfinished[name] ?? Number.POSITIVE_INFINITY),
    )
    if (isContract(migrationOf(name)) && steps.length > 0) await requireMigration(tx, name)
    for (const step of steps) await runStep(tx, name, step)
  }
  return [...first, ...rest]
}

async function runStep(tx: Kysely<unknown>, migration: string, step: number): Promise<void> {
  const declared = stepsOf(migrationOf(migration))[step]
  if (!declared) throw new Error(`${migration} has no step ${step}`)
  const rows = await runDeclared(tx, declared)
  await recordStep(tx, { migration, step, isFinished: true, rows })
}

async function runDeclared(tx: Kysely<unknown>, step: Step): Promise<number> {
  if (step.kind === 'index') await buildIndex(tx, step.index).execute(tx)
  else if (step.kind === 'backfill') return runBackfill(tx, step)
  else await step.run(tx)
  return 0
}

async function runBackfill(
  tx: Kysely<unknown>,
  { runBatch }: Extract<Step, { kind: 'backfill' }>,
): Promise<number> {
  let changed = 0
  for (let after: string | null = null; ; ) {
    const batch = await runBatch(tx, after, rowsPerBatch)
    changed += batch.rows
    if (batch.after === null) return changed
    after = batch.after
  }
}
