import { createIndex, inTransaction, type SchemaMigration } from '../migrate/steps.ts'

/** Where logged prompts and replies are in the bucket. The index also finds those that are not there yet. */
export const contentPacks: SchemaMigration = {
  steps: [
    inTransaction('add generation_contents.pack', async (db) => {
      await db.schema.alterTable('generation_contents').addColumn('pack', 'text').execute()
      await db.schema.alterTable('generation_contents').addColumn('pack_offset', 'integer').execute()
      await db.schema.alterTable('generation_contents').addColumn('pack_length', 'integer').execute()
    }),
    createIndex({
      name: 'generation_contents_by_pack',
      table: 'generation_contents',
      columns: ['pack', 'created_at'],
    }),
  ],
}
