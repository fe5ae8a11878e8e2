import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { flag, index, key, organization, required } from './columns.ts'

/** The list of requests: its order, and those that were refused before a provider was called. */
export const requestLog: Migration = {
  async up(db) {
    // Rows of an organization are appended at its end, so the index costs a write of little more than its entries.
    await index(db, 'generations_by_time', 'generations', ['organization_id', 'created_at', 'id'])
    // What people look for most, and a small part of all requests.
    await sql`create index generations_unsuccessful on generations (organization_id, created_at, id)
      where status <> 'completed'`.execute(db)
    await createRefusedRequests(db)
  },
}

async function createRefusedRequests(db: Kysely<unknown>) {
  await db.schema
    .createTable('refused_requests')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('workspace_id', 'text', required)
    .addColumn('key_id', 'bigint', required)
    .addColumn('user_id', 'text')
    .addColumn('created_at', 'text', required)
    .addColumn('error_code', 'text', required)
    .addColumn('http_status', 'integer', required)
    .addColumn('message', 'text', required)
    .addColumn('details', 'text', required)
    .addColumn('requested_model', 'text')
    .addColumn('dialect', 'text', required)
    .addColumn('api_type', 'text')
    .addColumn('streamed', 'integer', flag)
    .addColumn('latency_ms', 'integer', required)
    .addColumn('preset_id', 'text')
    .addColumn('session_id', 'text')
    .addColumn('app_url', 'text')
    .addColumn('app_title', 'text')
    .addColumn('external_user', 'text')
    .addColumn('request_id', 'text')
    .addColumn('routing_plan_id', 'text')
    .addColumn('requests', 'integer', required)
    .execute()
  await index(db, 'refused_requests_by_time', 'refused_requests', ['organization_id', 'created_at', 'id'])
}
