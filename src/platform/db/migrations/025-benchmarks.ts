import { sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { required } from './columns.ts'

export const benchmarks: Migration = {
  async up(db) {
    await db.schema
      .createTable('benchmark_results')
      .addColumn('source', 'text', required)
      .addColumn('benchmark', 'text', required)
      .addColumn('model', 'text', required)
      .addColumn('endpoint', 'text', required)
      .addColumn('variant', 'text', required)
      .addColumn('run_id', 'text', required)
      .addColumn('display_name', 'text', required)
      .addColumn('score', 'double precision', required)
      .addColumn('deviation', 'double precision')
      .addColumn('cost_nanos', 'bigint')
      .addColumn('latency_ms', 'double precision')
      .addColumn('tasks', 'integer')
      .addColumn('measured_at', 'text', required)
      .addColumn('details', 'text', required)
      .addColumn('source_url', 'text')
      .addColumn('imported_at', 'text', required)
      .addPrimaryKeyConstraint('benchmark_results_pk', [
        'source',
        'benchmark',
        'model',
        'endpoint',
        'variant',
        'run_id',
      ])
      .execute()
    await sql`insert into instance (name, value) values ('benchmarks_version', '0')`.execute(db)
  },
}
