import type { Migration } from 'kysely/migration'
import { index } from './columns.ts'

/** The conversations of a workspace are counted with each new one. */
export const conversationOwners: Migration = {
  async up(db) {
    await index(db, 'conversations_workspace', 'conversations', ['workspace_id'])
  },
}
