import type { Migration } from 'kysely/migration'
import { index, key, organization, required } from './columns.ts'

export const conversations: Migration = {
  async up(db) {
    await db.schema
      .createTable('conversations')
      .addColumn('id', 'text', key)
      .addColumn('organization_id', 'text', organization)
      .addColumn('workspace_id', 'text', required)
      .addColumn('metadata', 'text', required)
      .addColumn('created_at', 'text', required)
      .addColumn('expires_at', 'text', required)
      .execute()
    await index(db, 'conversations_expiry', 'conversations', ['expires_at'])
    await db.schema
      .createTable('conversation_items')
      .addColumn('conversation_id', 'text', (c) =>
        c.notNull().references('conversations.id').onDelete('cascade'),
      )
      .addColumn('place', 'text', required)
      .addColumn('item_id', 'text', required)
      .addColumn('item', 'text', required)
      .addPrimaryKeyConstraint('conversation_items_place', ['conversation_id', 'place'])
      .execute()
    await index(db, 'conversation_items_id', 'conversation_items', ['item_id'])
  },
}
