import { type ColumnDefinitionBuilder, type Kysely, PostgresAdapter } from 'kysely'
import type { Migration } from 'kysely/migration'
import { clustered, flag, index, key, organization, required } from './columns.ts'

export const datasets: Migration = {
  async up(db) {
    await createDailyRequests(db)
    await createTasks(db)
    await createContributions(db)
    await createFigures(db)
  },
}

async function createDailyRequests(db: Kysely<unknown>) {
  await db.schema
    .createTable('daily_requests')
    .addColumn('organization_id', 'text', organization)
    .addColumn('name', 'text', required)
    .addColumn('day', 'text', required)
    .addColumn('requests', 'integer', required)
    .addPrimaryKeyConstraint('daily_requests_key', ['organization_id', 'name', 'day'])
    .execute()
}

async function createTasks(db: Kysely<unknown>) {
  await clustered(
    db,
    db.schema
      .createTable('generation_tasks')
      .addColumn('generation_id', 'text', (column) => key(column).notNull())
      .addColumn('tag', 'text', required)
      .addColumn('category', 'text')
      .addColumn('language', 'text', required)
      .addColumn('weight', 'integer', required)
      .addColumn('counted', 'integer', flag),
  )
}

async function createContributions(db: Kysely<unknown>) {
  await db.schema
    .createTable('dataset_contributions')
    .addColumn('kind', 'text', required)
    .addColumn('day', 'text', required)
    .addColumn('subject', 'text', required)
    .addColumn('organization_id', 'text', organization)
    .addColumn('label', 'text')
    .addColumn('requests', 'bigint', flag)
    .addColumn('tokens', 'bigint', flag)
    .addColumn('cost_nanos', 'bigint', flag)
    .addPrimaryKeyConstraint('dataset_contributions_key', ['kind', 'day', 'subject', 'organization_id'])
    .execute()
  await db.schema
    .createTable('dataset_days')
    .addColumn('kind', 'text', required)
    .addColumn('day', 'text', required)
    .addColumn('changes', 'bigint', flag)
    .addColumn('published_changes', 'bigint', flag)
    .addColumn('published_at', 'text')
    .addPrimaryKeyConstraint('dataset_days_key', ['kind', 'day'])
    .execute()
  await db.schema
    .createTable('dataset_sessions')
    .addColumn('organization_id', 'text', organization)
    .addColumn('session_id', 'text', required)
    .addColumn('app_url', 'text', required)
    .addColumn('model', 'text', required)
    .addColumn('day', 'text', required)
    .addColumn('turns', 'bigint', flag)
    .addColumn('cost_nanos', 'bigint', flag)
    .addPrimaryKeyConstraint('dataset_sessions_key', ['organization_id', 'session_id', 'app_url', 'model'])
    .execute()
  await index(db, 'dataset_sessions_by_day', 'dataset_sessions', ['day'])
}

async function createFigures(db: Kysely<unknown>) {
  await db.schema
    .createTable('dataset_figures')
    .addColumn('kind', 'text', required)
    .addColumn('day', 'text', required)
    .addColumn('subject', 'text', required)
    .addColumn('requests', 'bigint', required)
    .addColumn('tokens', 'bigint', required)
    .addColumn('cost_nanos', 'bigint', required)
    .addColumn('organizations', 'integer', required)
    .addPrimaryKeyConstraint('dataset_figures_key', ['kind', 'day', 'subject'])
    .execute()
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter
  const count = (column: ColumnDefinitionBuilder) =>
    isPostgres ? column.primaryKey().generatedByDefaultAsIdentity() : column.primaryKey().autoIncrement()
  await db.schema
    .createTable('dataset_apps')
    .addColumn('id', isPostgres ? 'bigint' : 'integer', count)
    .addColumn('url', 'text', (column) => column.notNull().unique())
    .addColumn('slug', 'text', required)
    .addColumn('title', 'text')
    .execute()
  await index(db, 'dataset_apps_by_slug', 'dataset_apps', ['slug'])
}
