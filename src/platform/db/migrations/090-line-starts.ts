import type { Migration } from 'kysely/migration'

/** When a tool, a plugin or a turn of a request began, in milliseconds from the arrival of the request. */
export const lineStarts: Migration = {
  async up(db) {
    await db.schema.alterTable('generation_lines').addColumn('started_ms', 'integer').execute()
  },
}
