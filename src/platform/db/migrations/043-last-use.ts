import { sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** The time a key was last used, written with the amounts of its meter, so that a request needs no further write. */
export const lastUse: Migration = {
  async up(db) {
    await db.schema.alterTable('meters').addColumn('used_at', 'text').execute()
    // Until the next request, the day of the last one is known.
    await sql`update meters set used_at = day || 'T00:00:00.000Z' where day <> ''`.execute(db)
  },
}
