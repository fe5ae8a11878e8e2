import type { Migration } from 'kysely/migration'
import { flag, index, key, organization, required } from './columns.ts'

/** Replies of several models to the same prompts, and which of them people prefer. */
export const comparisons: Migration = {
  async up(db) {
    await db.schema
      .createTable('comparisons')
      .addColumn('id', 'text', key)
      .addColumn('organization_id', 'text', organization)
      .addColumn('workspace_id', 'text', (column) => column.references('workspaces.id'))
      .addColumn('visibility', 'text', required)
      .addColumn('creator', 'text', required)
      .addColumn('name', 'text', required)
      .addColumn('models', 'text', required)
      .addColumn('prompt_count', 'integer', required)
      .addColumn('is_blind', 'integer', flag)
      .addColumn('sealed_prompts', 'text', required)
      .addColumn('created_at', 'text', required)
      .addColumn('updated_at', 'text', required)
      .execute()
    await index(db, 'comparisons_of_creator', 'comparisons', ['creator', 'created_at'])
    await index(db, 'comparisons_shared', 'comparisons', ['organization_id', 'visibility', 'workspace_id'])
    await db.schema
      .createTable('comparison_replies')
      .addColumn('comparison_id', 'text', (column) =>
        column.notNull().references('comparisons.id').onDelete('cascade'),
      )
      .addColumn('prompt', 'integer', required)
      .addColumn('model', 'integer', required)
      .addColumn('generation_id', 'text')
      .addColumn('provider', 'text')
      .addColumn('sealed_reply', 'text', required)
      .addColumn('has_error', 'integer', flag)
      .addColumn('cost_nanos', 'bigint')
      .addColumn('first_token_ms', 'integer')
      .addColumn('latency_ms', 'integer')
      .addPrimaryKeyConstraint('comparison_replies_place', ['comparison_id', 'prompt', 'model'])
      .execute()
    await db.schema
      .createTable('comparison_votes')
      .addColumn('comparison_id', 'text', (column) =>
        column.notNull().references('comparisons.id').onDelete('cascade'),
      )
      .addColumn('prompt', 'integer', required)
      .addColumn('voter', 'text', required)
      .addColumn('model', 'integer', required)
      .addColumn('created_at', 'text', required)
      .addPrimaryKeyConstraint('comparison_votes_voter', ['comparison_id', 'prompt', 'voter'])
      .execute()
  },
}
