import type { Migration } from 'kysely/migration'

/** The tags of a request, one per line. */
export const generationTags: Migration = {
  async up(db) {
    for (const table of ['generations', 'refused_requests'])
      await db.schema.alterTable(table).addColumn('tags', 'text').execute()
  },
}
