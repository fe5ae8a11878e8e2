import type { Migration } from 'kysely/migration'
import { clustered, flag, index, key, required } from './columns.ts'

/** What ClickHouse has of the generations, and the queue of those that it does not have yet. */
export const clickhouseStream: Migration = {
  async up(db) {
    await db.schema
      .createTable('clickhouse_stream')
      .addColumn('name', 'text', key)
      .addColumn('stream_id', 'text', required)
      .addColumn('covered_from', 'text')
      .addColumn('retained_from', 'text')
      .addColumn('backfill_position', 'text')
      .addColumn('backfill_until', 'text')
      .addColumn('is_backfilled', 'integer', flag)
      .addColumn('is_ended', 'integer', flag)
      .addColumn('exported', 'bigint', flag)
      .addColumn('exported_at', 'text')
      .addColumn('seen_at', 'text', required)
      .addColumn('trimmed_at', 'text')
      .addColumn('lease_owner', 'text')
      .addColumn('lease_until', 'text')
      .execute()
    const queue = db.schema
      .createTable('clickhouse_queue')
      .addColumn('generation_id', 'text', key)
      .addColumn('organization_id', 'text', required)
      .addColumn('version', 'bigint', required)
      .addColumn('moved_from', 'text')
    await clustered(db, queue)
    await index(db, 'clickhouse_queue_by_organization', 'clickhouse_queue', ['organization_id'])
    await index(db, 'clickhouse_queue_by_version', 'clickhouse_queue', ['version'])
  },
}
