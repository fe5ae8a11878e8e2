import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { index, key, organization, required } from './columns.ts'

/** Responses are stored for a few days only: those in the older format are not migrated. */
export const storedResponses: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.dropTable('stored_items').execute()
    await db.schema.dropTable('stored_responses').execute()
    await db.schema
      .createTable('stored_responses')
      .addColumn('id', 'text', key)
      .addColumn('organization_id', 'text', organization)
      .addColumn('workspace_id', 'text', required)
      .addColumn('previous_response_id', 'text')
      .addColumn('input_count', 'integer', required)
      .addColumn('item_bytes', 'integer', required)
      .addColumn('stored_bytes', 'integer', required)
      .addColumn('created_at', 'text', required)
      .addColumn('expires_at', 'text', required)
      .addColumn('body', 'text', required)
      .execute()
    await index(db, 'stored_responses_expiry', 'stored_responses', ['expires_at'])
    await index(db, 'stored_responses_newest', 'stored_responses', [
      ...['workspace_id', 'created_at', 'id', 'stored_bytes'],
    ])
    await createItems(db)
  },
}

async function createItems(db: Kysely<unknown>) {
  await db.schema
    .createTable('stored_pages')
    .addColumn('response_id', 'text', (c) =>
      c.notNull().references('stored_responses.id').onDelete('cascade'),
    )
    .addColumn('first', 'integer', required)
    .addColumn('count', 'integer', required)
    .addColumn('items', 'text', required)
    .addPrimaryKeyConstraint('stored_pages_place', ['response_id', 'first'])
    .execute()
  await db.schema
    .createTable('stored_item_ids')
    .addColumn('item_id', 'text', required)
    .addColumn('response_id', 'text', (c) =>
      c.notNull().references('stored_responses.id').onDelete('cascade'),
    )
    .addColumn('position', 'integer', required)
    .addPrimaryKeyConstraint('stored_item_ids_key', ['item_id', 'response_id'])
    .execute()
  await index(db, 'stored_item_ids_response', 'stored_item_ids', ['response_id'])
}
