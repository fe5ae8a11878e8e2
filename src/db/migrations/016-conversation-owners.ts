import type { Migration } from 'kysely/migration'
import { index } from './columns.ts'

/** A workspace's conversations are counted with each new one. */
export const conversationOwners: Migration = {
  async up(db) {
    await index(db, 'conversations_workspace', 'conversations', ['workspace_id'])
  },
}
