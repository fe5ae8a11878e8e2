import type { Migration } from 'kysely/migration'
import { watchTable } from './revision-triggers.ts'

/** The priority of the requests of a key, and the time that a request waited for the rate of a provider. */
export const priorities: Migration = {
  async up(db) {
    await db.schema
      .alterTable('api_keys')
      .addColumn('priority', 'text', (column) => column.notNull().defaultTo('normal'))
      .execute()
    await db.schema.alterTable('api_keys').addColumn('max_priority', 'text').execute()
    await db.schema.alterTable('generations').addColumn('queued_ms', 'integer').execute()
    await watchTable(db, { table: 'api_keys' })
  },
}
