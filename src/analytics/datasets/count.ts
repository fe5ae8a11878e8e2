import { sql } from 'kysely'
import type { UsageRecord } from '../../ledger/usage-record.ts'
import type { Db } from '../../platform/db/db.ts'
import type { DatasetContributionTable, DatasetSessionTable } from '../../platform/db/schema.ts'
import { shadowWorkspaceSlug } from '../../storage/shadows/shadow.ts'
import { type Contributions, computeContributions, type GenerationTask } from './contributions.ts'

const maxRowsPerStatement = 500

/** The contributions of a batch of generations to the datasets. */
export interface DatasetBatch extends Contributions {
  /** Generations whose task is counted with it. */
  countedIds: string[]
}

/** Mirrors repeat requests that are counted already: they are left out. */
export async function buildDatasetBatch(db: Db, records: readonly UsageRecord[]): Promise<DatasetBatch> {
  const mirrors = await findMirrorWorkspaces(db, records)
  const counted = records.filter(({ workspace_id }) => !mirrors.has(workspace_id))
  const tasks = await readTasks(db, [...new Set(counted.map(({ id }) => id))])
  return { ...computeContributions(counted, tasks), countedIds: [...tasks.keys()] }
}

async function findMirrorWorkspaces(db: Db, records: readonly UsageRecord[]): Promise<ReadonlySet<string>> {
  const ids = [...new Set(records.map(({ workspace_id }) => workspace_id))]
  const rows = await Promise.all(
    splitChunks(ids).map((some) =>
      db
        .selectFrom('workspaces')
        .select('id')
        .where('id', 'in', some)
        .where('slug', '=', shadowWorkspaceSlug)
        .execute(),
    ),
  )
  return new Set(rows.flat().map(({ id }) => id))
}

async function readTasks(db: Db, ids: readonly string[]): Promise<Map<string, GenerationTask>> {
  if (ids.length === 0) return new Map()
  const rows = await db.selectFrom('generation_tasks').selectAll().where('generation_id', 'in', ids).execute()
  return new Map(rows.map((row) => [row.generation_id, row]))
}

/** Counts a batch in the transaction that rolls the generations up, so that each is counted once. */
export async function countDatasetBatch(tx: Db, batch: DatasetBatch): Promise<void> {
  for (const rows of splitChunks(batch.figures)) await addFigures(tx, rows)
  for (const rows of splitChunks(batch.sessions)) await addSessions(tx, rows)
  for (const ids of splitChunks(batch.countedIds)) {
    await tx.updateTable('generation_tasks').set({ counted: 1 }).where('generation_id', 'in', ids).execute()
  }
  await markDays(tx, batch.figures)
}

async function addFigures(tx: Db, rows: readonly DatasetContributionTable[]): Promise<void> {
  const add = (column: string) => sql`dataset_contributions.${sql.ref(column)} + excluded.${sql.ref(column)}`
  await tx
    .insertInto('dataset_contributions')
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(['kind', 'day', 'subject', 'organization_id']).doUpdateSet({
        label: sql<string | null>`coalesce(excluded.label, dataset_contributions.label)`,
        requests: sql<number>`${add('requests')}`,
        tokens: sql<number>`${add('tokens')}`,
        cost_nanos: sql<bigint>`${add('cost_nanos')}`,
      }),
    )
    .execute()
}

async function addSessions(tx: Db, rows: readonly DatasetSessionTable[]): Promise<void> {
  const add = (column: string) => sql`dataset_sessions.${sql.ref(column)} + excluded.${sql.ref(column)}`
  await tx
    .insertInto('dataset_sessions')
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(['organization_id', 'session_id', 'app_url', 'model']).doUpdateSet({
        day: sql<string>`case when excluded.day > dataset_sessions.day then excluded.day else dataset_sessions.day end`,
        turns: sql<number>`${add('turns')}`,
        cost_nanos: sql<bigint>`${add('cost_nanos')}`,
      }),
    )
    .execute()
}

/** Marks the days whose figures have to be published again. */
async function markDays(tx: Db, figures: readonly DatasetContributionTable[]): Promise<void> {
  const days = new Map(figures.map(({ kind, day }) => [`${kind} ${day}`, { kind, day }]))
  const rows = [...days.values()].map((day) => ({ ...day, changes: 1, published_changes: 0 }))
  for (const some of splitChunks(rows)) {
    await tx
      .insertInto('dataset_days')
      .values(some)
      .onConflict((conflict) =>
        conflict.columns(['kind', 'day']).doUpdateSet({ changes: sql<number>`dataset_days.changes + 1` }),
      )
      .execute()
  }
}

function splitChunks<T>(rows: readonly T[]): T[][] {
  const count = Math.ceil(rows.length / maxRowsPerStatement)
  return Array.from({ length: count }, (_, index) =>
    rows.slice(index * maxRowsPerStatement, (index + 1) * maxRowsPerStatement),
  )
}
