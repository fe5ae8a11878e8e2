import { existsSync } from 'node:fs'
import { Command } from 'commander'
import type { Kysely } from 'kysely'
import { ConfigError } from '../config.ts'
import { lockDatabase, prepareDataDir } from '../gateway/data-dir.ts'
import { loadConfig } from '../gateway/secret-managers/resolve.ts'
import { migrationLeaseMs } from '../ledger/recovery.ts'
import { closeDb, isPostgresUrl, openDb } from '../platform/db/db.ts'
import type { MigrationOutcome } from '../platform/db/migrate/online.ts'
import { type PlannedMigration, planMigrations } from '../platform/db/migrate/plan.ts'
import type { MigrationProgress, StepName } from '../platform/db/migrate/progress.ts'
import { readRecord } from '../platform/db/migrate/record.ts'
import { readPending, runMigrations } from '../platform/db/upgrade.ts'
import { rootCauseMessage } from '../platform/root-cause.ts'
import type { CommandResult } from './command.ts'
import { ProgressLine } from './progress.ts'

export function migrateCommand(print: (result: CommandResult) => void): Command {
  return new Command('migrate')
    .description('migrate the database, on PostgreSQL while nodes of the previous version serve, and exit')
    .option('--dry-run', 'print what would be done, and change nothing')
    .addHelpText(
      'after',
      '\nRun it before nodes of a new version start, and again when the last node of the previous one has stopped. An interrupted run is continued by the next.',
    )
    .action(async ({ dryRun = false }: { dryRun?: boolean }) => {
      const { dataDir, databaseUrl } = await loadConfig()
      prepareDataDir(dataDir)
      print(await withMigrationErrors(() => (dryRun ? showPlan(databaseUrl) : runPending(databaseUrl))))
    })
}

async function withMigrationErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw new ConfigError(`Cannot migrate the database: ${rootCauseMessage(error)}`)
  }
}

async function showPlan(databaseUrl: string): Promise<CommandResult> {
  const plan = await readPlan(databaseUrl)
  return { value: { pending: plan }, text: plan.length === 0 ? upToDate : plan.map(formatPlanned).join('\n') }
}

const upToDate = 'The database schema is up to date.'

async function readPlan(databaseUrl: string): Promise<PlannedMigration[]> {
  // Opening a file would create it.
  if (!isPostgresUrl(databaseUrl) && !existsSync(databaseUrl))
    return planMigrations({ required: new Set(), steps: new Map() })
  const db = openDb(databaseUrl)
  try {
    await readPending(db)
    return await planMigrations(await readRecord(db as Kysely<unknown>))
  } finally {
    await closeDb(db)
  }
}

const kindNotes = {
  offline: 'needs all nodes stopped',
  expand: 'nodes may serve meanwhile',
  contract: 'once no node of an earlier version is left',
}

function formatPlanned({ name, kind, steps }: PlannedMigration): string {
  const lines = steps.flatMap(({ title, statements }, index) => [
    `  ${index + 1}. ${title}`,
    ...statements.map((statement) => `     ${statement}`),
  ])
  return [`${name} (${kindNotes[kind]})`, ...lines].join('\n')
}

async function runPending(databaseUrl: string): Promise<CommandResult> {
  if ((await readPlan(databaseUrl)).length === 0)
    return { value: { migrated: [], waiting: [] }, text: upToDate }
  // A server on SQLite has the tables to itself, and a process of the previous version may be one.
  const unlock = isPostgresUrl(databaseUrl) ? null : lockDatabase(databaseUrl)
  const line = new ProgressLine('')
  try {
    const { run, waiting } = await runMigrations(databaseUrl, {
      nodeTimeoutMs: migrationLeaseMs,
      progress: createProgress(line),
    })
    return { value: { migrated: run, waiting }, text: formatOutcome({ run, waiting }) }
  } finally {
    line.end()
    unlock?.()
  }
}

function createProgress(line: ProgressLine): MigrationProgress {
  const write = (text: string) => {
    line.end()
    process.stderr.write(`${text}\n`)
  }
  return {
    onStep: (step) => write(formatStep(step)),
    onProgress: (step, detail) => line.show(`${formatStep(step)}: ${detail}`),
    onWait: (reason) => write(`Waiting: ${reason}.`),
  }
}

function formatStep({ migration, step, steps, title }: StepName): string {
  return `${migration}, step ${step} of ${steps}: ${title}`
}

function formatOutcome({ run, waiting }: MigrationOutcome): string {
  const done = run.length === 0 ? [] : [`Finished: ${run.join(', ')}.`]
  const later = waiting.map(
    ({ name, node }) =>
      `${name} waits: ${node} is of an earlier version. Run "headgate migrate" again when the last such node has stopped.`,
  )
  return [...done, ...(later.length === 0 ? [upToDate] : later)].join('\n')
}
