import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { index, required } from './columns.ts'

/** Sessions can be listed and end when unused; each member has one key for requests without an API key. */
export const sessions: Migration = {
  async up(db: Kysely<unknown>) {
    // Members sign in again: the new columns of old sessions are unknown.
    await sql`delete from sessions`.execute(db)
    for (const column of ['id', 'method', 'last_seen_at']) {
      await db.schema
        .alterTable('sessions')
        .addColumn(column, 'text', (definition) => required(definition).defaultTo(''))
        .execute()
    }
    await db.schema.alterTable('sessions').addColumn('ip', 'text').execute()
    await db.schema.alterTable('sessions').addColumn('user_agent', 'text').execute()
    await index(db, 'sessions_by_user', 'sessions', ['user_id'])
    await sql`create unique index api_keys_of_sessions on api_keys (creator_user_id, workspace_id)
      where source = 'session'`.execute(db)
  },
}
