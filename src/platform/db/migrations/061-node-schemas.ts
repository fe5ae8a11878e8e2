import type { Migration } from 'kysely/migration'

/** The last migration that a node knows: contract migrations wait until every node knows them. */
export const nodeSchemas: Migration = {
  async up(db) {
    await db.schema.alterTable('nodes').addColumn('schema', 'text').execute()
  },
}
