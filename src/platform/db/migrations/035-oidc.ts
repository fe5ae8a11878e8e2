import { type ColumnDefinitionBuilder, type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { flag, index, key, organization, required } from './columns.ts'

const member = (column: ColumnDefinitionBuilder) =>
  column.notNull().references('members.id').onDelete('cascade')
const connection = (column: ColumnDefinitionBuilder) =>
  column.notNull().references('sso_connections.id').onDelete('cascade')

/** Single sign-on with OpenID Connect. */
export const oidc: Migration = {
  async up(db) {
    await createConnections(db)
    await createDomains(db)
    await createMappings(db)
    await createPolicies(db)
    await createIdentities(db)
  },
}

async function createConnections(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('sso_connections')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('name', 'text', required)
    .addColumn('issuer', 'text', required)
    .addColumn('client_id', 'text', required)
    .addColumn('sealed_client_secret', 'text', required)
    .addColumn('client_auth', 'text', required)
    .addColumn('scopes', 'text', required)
    .addColumn('claims', 'text', required)
    .addColumn('default_role', 'text', required)
    .addColumn('jit', 'integer', flag)
    .addColumn('created_at', 'text', required)
    .addColumn('updated_at', 'text', required)
    .execute()
  await index(db, 'sso_connections_page', 'sso_connections', ['organization_id', 'created_at', 'id'])
}

async function createDomains(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('sso_domains')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('domain', 'text', required)
    .addColumn('connection_id', 'text', (column) =>
      column.references('sso_connections.id').onDelete('set null'),
    )
    .addColumn('verification_token', 'text', required)
    .addColumn('verified_by', 'text')
    .addColumn('verified_at', 'text')
    .addColumn('created_at', 'text', required)
    .addUniqueConstraint('sso_domains_once', ['organization_id', 'domain'])
    .execute()
  // Several organizations may claim a domain; one of them can verify it.
  await sql`create unique index sso_domains_verified on sso_domains (domain)
    where verified_at is not null`.execute(db)
}

async function createMappings(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('sso_mappings')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('connection_id', 'text', connection)
    .addColumn('claim', 'text', required)
    .addColumn('value', 'text', required)
    .addColumn('workspace_id', 'text', (column) => column.references('workspaces.id'))
    .addColumn('role', 'text', required)
    .execute()
  await index(db, 'sso_mappings_by_connection', 'sso_mappings', ['connection_id'])
  await index(db, 'sso_mappings_by_organization', 'sso_mappings', ['organization_id', 'workspace_id'])
  await db.schema
    .createTable('sso_mapping_members')
    .addColumn('mapping_id', 'text', (column) =>
      column.notNull().references('sso_mappings.id').onDelete('cascade'),
    )
    .addColumn('user_id', 'text', member)
    .addPrimaryKeyConstraint('sso_mapping_members_key', ['mapping_id', 'user_id'])
    .execute()
  await index(db, 'sso_mapping_members_by_user', 'sso_mapping_members', ['user_id'])
}

async function createPolicies(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('sso_policies')
    .addColumn('organization_id', 'text', (column) => key(organization(column)))
    .addColumn('enforced', 'integer', flag)
    .addColumn('updated_at', 'text', required)
    .execute()
  await db.schema
    .createTable('sso_break_glass')
    .addColumn('user_id', 'text', (column) => key(member(column)))
    .addColumn('organization_id', 'text', organization)
    .execute()
  await index(db, 'sso_break_glass_by_organization', 'sso_break_glass', ['organization_id'])
}

async function createIdentities(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('sso_identities')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('issuer', 'text', required)
    .addColumn('subject', 'text', required)
    .addColumn('connection_id', 'text', connection)
    .addColumn('user_id', 'text', member)
    .addColumn('created_at', 'text', required)
    .addColumn('last_signed_in_at', 'text', required)
    .addUniqueConstraint('sso_identities_once', ['organization_id', 'issuer', 'subject'])
    .execute()
  await index(db, 'sso_identities_by_user', 'sso_identities', ['user_id'])
  await db.schema
    .createTable('sso_sessions')
    .addColumn('token_hash', 'text', (column) =>
      key(column.references('sessions.token_hash').onDelete('cascade')),
    )
    .addColumn('connection_id', 'text', connection)
    .addColumn('issuer', 'text', required)
    .addColumn('subject', 'text', required)
    .addColumn('sid', 'text')
    .addColumn('sealed_id_token', 'text', required)
    .execute()
  await index(db, 'sso_sessions_by_subject', 'sso_sessions', ['connection_id', 'subject'])
  await db.schema
    .createTable('sso_used_tokens')
    .addColumn('token_hash', 'text', key)
    .addColumn('expires_at', 'text', required)
    .execute()
  await index(db, 'sso_used_tokens_expiry', 'sso_used_tokens', ['expires_at'])
}
