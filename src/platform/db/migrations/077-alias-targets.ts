import type { Migration } from 'kysely/migration'
import { watchTable } from './revision-triggers.ts'

/** How the requests for an alias are divided among its targets: JSON. Its models are also in the column before it. */
export const aliasTargets: Migration = {
  async up(db) {
    await db.schema.alterTable('model_aliases').addColumn('split', 'text').execute()
    await watchTable(db, { table: 'model_aliases' })
  },
}
