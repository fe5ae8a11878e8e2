import type { Migration } from 'kysely/migration'
import { index, required } from './columns.ts'

export const generationLines: Migration = {
  async up(db) {
    await db.schema
      .createTable('generation_lines')
      .addColumn('generation_id', 'text', required)
      .addColumn('position', 'integer', required)
      .addColumn('kind', 'text', required)
      .addColumn('name', 'text', required)
      .addColumn('provider', 'text')
      .addColumn('quantity', 'integer', required)
      .addColumn('tokens_prompt', 'integer')
      .addColumn('tokens_completion', 'integer')
      .addColumn('cost_nanos', 'bigint', required)
      .addColumn('duration_ms', 'integer', required)
      .addColumn('nested_id', 'text')
      .addPrimaryKeyConstraint('generation_lines_key', ['generation_id', 'position'])
      .execute()
    await index(db, 'generation_lines_nested', 'generation_lines', ['nested_id'])
  },
}
