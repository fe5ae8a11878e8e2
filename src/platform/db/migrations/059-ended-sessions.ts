import type { Migration } from 'kysely/migration'
import { index, key, required } from './columns.ts'

/** The reasons why sessions ended, stored for a limited time: the 401 says why the member has to sign in again. */
export const endedSessions: Migration = {
  async up(db) {
    await db.schema
      .createTable('ended_sessions')
      .addColumn('token_hash', 'text', key)
      .addColumn('user_id', 'text', required)
      .addColumn('reason', 'text', required)
      .addColumn('expires_at', 'text', required)
      .execute()
    await index(db, 'ended_sessions_by_user', 'ended_sessions', ['user_id', 'expires_at'])
    await index(db, 'ended_sessions_expiry', 'ended_sessions', ['expires_at'])
  },
}
