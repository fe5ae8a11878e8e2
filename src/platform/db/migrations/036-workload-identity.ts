import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { flag, index, key, organization, required } from './columns.ts'

/** Issuers whose tokens are exchanged for access with a key, and the key pairs that sign the access tokens. */
export const workloadIdentity: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('workload_issuers')
      .addColumn('id', 'text', key)
      .addColumn('organization_id', 'text', organization)
      .addColumn('name', 'text', required)
      .addColumn('issuer', 'text', required)
      .addColumn('jwks_uri', 'text')
      .addColumn('algorithms', 'text', required)
      .addColumn('created_at', 'text', required)
      .addColumn('updated_at', 'text', required)
      .addUniqueConstraint('workload_issuers_once', ['organization_id', 'issuer'])
      .execute()
    await db.schema
      .createTable('workload_policies')
      .addColumn('id', 'text', key)
      .addColumn('organization_id', 'text', organization)
      .addColumn('issuer_id', 'text', (column) => required(column).references('workload_issuers.id'))
      .addColumn('name', 'text', required)
      .addColumn('audience', 'text', required)
      .addColumn('subject', 'text')
      .addColumn('condition', 'text')
      .addColumn('target_key', 'text', required)
      .addColumn('enabled', 'integer', flag)
      .addColumn('created_at', 'text', required)
      .addColumn('updated_at', 'text', required)
      .execute()
    await index(db, 'workload_policies_page', 'workload_policies', ['organization_id', 'created_at'])
    await index(db, 'workload_policies_issuer', 'workload_policies', ['issuer_id'])
    await db.schema
      .createTable('signing_keys')
      .addColumn('kid', 'text', key)
      .addColumn('purpose', 'text', required)
      .addColumn('public_jwk', 'text', required)
      .addColumn('sealed_private_jwk', 'text', required)
      .addColumn('created_at', 'text', required)
      .addColumn('retired_at', 'text')
      .execute()
    await sql`create unique index signing_keys_current on signing_keys (purpose)
      where retired_at is null`.execute(db)
  },
}
