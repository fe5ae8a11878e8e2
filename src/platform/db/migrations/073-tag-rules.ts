import type { Migration } from 'kysely/migration'
import { watchTable } from './revision-triggers.ts'

/** The rules of keys and workspaces about the tags of their requests: JSON. */
export const tagRules: Migration = {
  async up(db) {
    for (const table of ['api_keys', 'workspaces']) {
      await db.schema.alterTable(table).addColumn('tag_rules', 'text').execute()
      await watchTable(db, { table })
    }
  },
}
