import { type Kysely, PostgresAdapter, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { flag, index, key, organization, required } from './columns.ts'

export const rollups: Migration = {
  async up(db) {
    await createSegments(db)
    await createKeyDays(db)
    await sql`insert into instance (name, value) values ('rolled_until', '')`.execute(db)
  },
}

async function createSegments(db: Kysely<unknown>) {
  await db.schema
    .createTable('usage_segments')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('level', 'text', required)
    .addColumn('day', 'text', required)
    .addColumn('size', 'bigint', required)
    .execute()
  await index(db, 'usage_segments_day', 'usage_segments', ['organization_id', 'day'])
  await db.schema
    .createTable('usage_columns')
    .addColumn('segment_id', 'text', required)
    .addColumn('name', 'text', required)
    .addColumn('body', 'bytea', required)
    .addPrimaryKeyConstraint('usage_columns_pk', ['segment_id', 'name'])
    .execute()
  // Numbers are already packed tightly: trying to compress them costs time at every read.
  if (db.getExecutor().adapter instanceof PostgresAdapter) {
    await sql`alter table usage_columns alter column body set storage external`.execute(db)
  }
}

async function createKeyDays(db: Kysely<unknown>) {
  await db.schema
    .createTable('key_days')
    .addColumn('key_id', 'bigint', required)
    .addColumn('day', 'text', required)
    .addColumn('organization_id', 'text', organization)
    .addColumn('workspace_id', 'text', required)
    .addColumn('user_id', 'text', required)
    .addColumn('requests', 'bigint', flag)
    .addColumn('usage_nanos', 'bigint', flag)
    .addColumn('byok_usage_nanos', 'bigint', flag)
    .addPrimaryKeyConstraint('key_days_pk', ['key_id', 'day', 'workspace_id', 'user_id'])
    .execute()
  await index(db, 'key_days_organization', 'key_days', ['organization_id', 'day'])
}
