import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { flag, index, key, organization, required } from './columns.ts'

export const inference: Migration = {
  async up(db) {
    await createGenerations(db)
    await createStoredResponses(db)
  },
}

const tokenColumns = [
  'tokens_input',
  'tokens_cache_read',
  'tokens_cache_write',
  'tokens_cache_write_1h',
  'tokens_input_audio',
  'tokens_input_image',
  'tokens_input_video',
  'tokens_output',
  'tokens_reasoning',
  'tokens_output_audio',
  'tokens_output_image',
  'web_searches',
]

/** No references to other tables: records outlive keys, workspaces and models. */
async function createGenerations(db: Kysely<unknown>) {
  let table = db.schema
    .createTable('generations')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', required)
    .addColumn('workspace_id', 'text', required)
    .addColumn('key_id', 'bigint', required)
    .addColumn('user_id', 'text')
    .addColumn('created_at', 'text', required)
    .addColumn('requested_model', 'text', required)
    .addColumn('model', 'text', required)
    .addColumn('provider', 'text', required)
    .addColumn('endpoint', 'text', required)
    .addColumn('dialect', 'text', required)
    .addColumn('upstream_dialect', 'text', required)
    .addColumn('streamed', 'integer', flag)
    .addColumn('status', 'text', required)
    .addColumn('error_code', 'text')
    .addColumn('finish_reason', 'text')
    .addColumn('native_finish_reason', 'text')
  for (const column of tokenColumns) table = table.addColumn(column, 'bigint', flag)
  await table
    .addColumn('usage_source', 'text', required)
    .addColumn('cost_nanos', 'bigint', required)
    .addColumn('upstream_cost_nanos', 'bigint', required)
    .addColumn('reported_cost_nanos', 'bigint')
    .addColumn('is_byok', 'integer', flag)
    .addColumn('latency_ms', 'integer', required)
    .addColumn('first_token_ms', 'integer')
    .addColumn('attempts', 'text', required)
    .addColumn('dropped', 'text')
    .addColumn('preset_id', 'text')
    .addColumn('session_id', 'text')
    .addColumn('region', 'text', required)
    .addColumn('app_url', 'text')
    .addColumn('app_title', 'text')
    .addColumn('external_user', 'text')
    .execute()
  await index(db, 'generations_organization', 'generations', ['organization_id', 'created_at'])
}

async function createStoredResponses(db: Kysely<unknown>) {
  await db.schema
    .createTable('stored_responses')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('workspace_id', 'text', required)
    .addColumn('previous_response_id', 'text')
    .addColumn('body', 'text', required)
    .addColumn('created_at', 'text', required)
    .addColumn('expires_at', 'text', required)
    .execute()
  await index(db, 'stored_responses_expiry', 'stored_responses', ['expires_at'])
  await db.schema
    .createTable('stored_items')
    .addColumn('response_id', 'text', (c) =>
      c.notNull().references('stored_responses.id').onDelete('cascade'),
    )
    .addColumn('position', 'integer', required)
    .addColumn('item_id', 'text')
    .addColumn('is_output', 'integer', flag)
    .addColumn('item', 'text', required)
    .addPrimaryKeyConstraint('stored_items_place', ['response_id', 'position'])
    .execute()
  await index(db, 'stored_items_id', 'stored_items', ['item_id'])
}
