import { type ColumnDefinitionBuilder, type Kysely, PostgresAdapter, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { flag, index, key, organization, required, workspace } from './columns.ts'

export const foundation: Migration = {
  async up(db) {
    await createOrganizations(db)
    await createWorkspaces(db)
    await createKeys(db)
    await createLedger(db)
    await createSignIn(db)
    await createFiles(db)
  },
}

/** A number that counts up: the order in which rows were created. */
function serial(db: Kysely<unknown>) {
  const postgres = db.getExecutor().adapter instanceof PostgresAdapter
  return {
    type: postgres ? ('bigint' as const) : ('integer' as const),
    build: (column: ColumnDefinitionBuilder) =>
      postgres ? column.primaryKey().generatedByDefaultAsIdentity() : column.primaryKey().autoIncrement(),
  }
}

async function createOrganizations(db: Kysely<unknown>) {
  await db.schema
    .createTable('instance')
    .addColumn('name', 'text', key)
    .addColumn('value', 'text', required)
    .execute()
  await db.schema
    .createTable('organizations')
    .addColumn('id', 'text', key)
    .addColumn('name', 'text', required)
    .addColumn('is_operator', 'integer', flag)
    .addColumn('created_at', 'text', required)
    .execute()
  await db.schema
    .createTable('members')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('email', 'text', required)
    .addColumn('first_name', 'text')
    .addColumn('last_name', 'text')
    .addColumn('role', 'text', required)
    .addColumn('created_at', 'text', required)
    .addUniqueConstraint('members_email', ['organization_id', 'email'])
    .execute()
  await index(db, 'members_page', 'members', ['organization_id', 'created_at', 'id'])
}

async function createWorkspaces(db: Kysely<unknown>) {
  await db.schema
    .createTable('workspaces')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('slug', 'text', required)
    .addColumn('name', 'text', required)
    .addColumn('description', 'text')
    .addColumn('is_default', 'integer', flag)
    .addColumn('default_text_model', 'text')
    .addColumn('default_image_model', 'text')
    .addColumn('default_provider_sort', 'text')
    .addColumn('include_byok_in_budgets', 'integer', flag)
    .addColumn('io_logging_enabled', 'integer', flag)
    .addColumn('io_logging_sampling_rate', 'double precision', (c) => c.notNull().defaultTo(1))
    .addColumn('io_logging_api_key_ids', 'text')
    .addColumn('data_discount_logging_enabled', 'integer', flag)
    .addColumn('broadcast_enabled', 'integer', flag)
    .addColumn('disabled_server_tools', 'text')
    .addColumn('created_by', 'text')
    .addColumn('created_at', 'text', required)
    .addColumn('updated_at', 'text')
    .addColumn('deleted_at', 'text')
    .execute()
  await uniqueWhere(db, 'workspaces_slug', 'workspaces', ['organization_id', 'slug'], sql`deleted_at is null`)
  await uniqueWhere(
    db,
    'workspaces_default',
    'workspaces',
    ['organization_id'],
    sql`is_default = 1 and deleted_at is null`,
  )
  await db.schema
    .createTable('workspace_members')
    .addColumn('id', 'text', key)
    .addColumn('workspace_id', 'text', workspace)
    .addColumn('user_id', 'text', (c) => c.notNull().references('members.id').onDelete('cascade'))
    .addColumn('role', 'text', required)
    .addColumn('created_at', 'text', required)
    .addUniqueConstraint('workspace_members_once', ['workspace_id', 'user_id'])
    .execute()
  await index(db, 'workspace_members_page', 'workspace_members', ['workspace_id', 'created_at', 'id'])
  await index(db, 'workspace_members_user', 'workspace_members', ['user_id'])
  await db.schema
    .createTable('workspace_budgets')
    .addColumn('id', 'text', key)
    .addColumn('workspace_id', 'text', workspace)
    .addColumn('interval', 'text', required)
    .addColumn('limit_nanos', 'bigint', required)
    .addColumn('created_at', 'text', required)
    .addColumn('updated_at', 'text', required)
    .addUniqueConstraint('workspace_budgets_once', ['workspace_id', 'interval'])
    .execute()
}

async function createKeys(db: Kysely<unknown>) {
  const id = serial(db)
  await db.schema
    .createTable('api_keys')
    .addColumn('id', id.type, id.build)
    .addColumn('hash', 'text', (c) => c.notNull().unique())
    .addColumn('organization_id', 'text', organization)
    .addColumn('workspace_id', 'text', workspace)
    .addColumn('kind', 'text', required)
    .addColumn('name', 'text', required)
    .addColumn('label', 'text', required)
    .addColumn('creator_user_id', 'text')
    .addColumn('limit_nanos', 'bigint')
    .addColumn('limit_reset', 'text')
    .addColumn('include_byok_in_limit', 'integer', flag)
    .addColumn('disabled', 'integer', flag)
    .addColumn('expires_at', 'text')
    .addColumn('external_user', 'text')
    .addColumn('external_hash', 'text', (c) => c.unique())
    .addColumn('source', 'text', (c) => c.notNull().defaultTo('api'))
    .addColumn('created_at', 'text', required)
    .addColumn('updated_at', 'text')
    .execute()
  await index(db, 'api_keys_page', 'api_keys', ['workspace_id', 'kind', 'id'])
  await index(db, 'api_keys_enabled_page', 'api_keys', ['workspace_id', 'kind', 'disabled', 'id'])
  await index(db, 'api_keys_creator', 'api_keys', ['creator_user_id'])
  await db.schema
    .createTable('key_usage')
    .addColumn('key_id', 'bigint', required)
    .addColumn('organization_id', 'text', required)
    .addColumn('day', 'text', required)
    .addColumn('usage_nanos', 'bigint', (c) => c.notNull().defaultTo(0))
    .addColumn('byok_usage_nanos', 'bigint', (c) => c.notNull().defaultTo(0))
    .addPrimaryKeyConstraint('key_usage_day', ['key_id', 'day'])
    .execute()
  await index(db, 'key_usage_organization', 'key_usage', ['organization_id', 'day'])
}

async function createLedger(db: Kysely<unknown>) {
  const id = serial(db)
  await db.schema
    .createTable('ledger_entries')
    .addColumn('id', id.type, id.build)
    .addColumn('transaction_id', 'text', required)
    .addColumn('organization_id', 'text', organization)
    .addColumn('account', 'text', required)
    .addColumn('amount_nanos', 'bigint', required)
    .addColumn('kind', 'text', required)
    .addColumn('note', 'text')
    .addColumn('created_at', 'text', required)
    .addUniqueConstraint('ledger_entries_once', ['transaction_id', 'account'])
    .execute()
  await index(db, 'ledger_entries_account', 'ledger_entries', ['organization_id', 'account', 'kind'])
}

async function createSignIn(db: Kysely<unknown>) {
  const id = serial(db)
  await db.schema
    .createTable('apps')
    .addColumn('id', id.type, id.build)
    .addColumn('organization_id', 'text', organization)
    .addColumn('url', 'text', required)
    .addColumn('name', 'text', required)
    .addColumn('created_at', 'text', required)
    .addUniqueConstraint('apps_url', ['organization_id', 'url'])
    .execute()
  await db.schema
    .createTable('auth_codes')
    .addColumn('code_hash', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('workspace_id', 'text', workspace)
    .addColumn('user_id', 'text')
    .addColumn('app_id', 'bigint', required)
    .addColumn('callback_url', 'text')
    .addColumn('code_challenge', 'text')
    .addColumn('code_challenge_method', 'text')
    .addColumn('key_name', 'text', required)
    .addColumn('key_limit_nanos', 'bigint')
    .addColumn('key_limit_reset', 'text')
    .addColumn('key_expires_at', 'text')
    .addColumn('created_at', 'text', required)
    .addColumn('expires_at', 'text', required)
    .addColumn('used_at', 'text')
    .execute()
  await index(db, 'auth_codes_expiry', 'auth_codes', ['expires_at'])
  for (const table of ['signin_links', 'sessions']) {
    await db.schema
      .createTable(table)
      .addColumn('token_hash', 'text', key)
      .addColumn('user_id', 'text', (c) => c.notNull().references('members.id').onDelete('cascade'))
      .addColumn('expires_at', 'text', required)
      .addColumn(table === 'sessions' ? 'created_at' : 'used_at', 'text')
      .execute()
    await index(db, `${table}_user`, table, ['user_id'])
  }
}

async function createFiles(db: Kysely<unknown>) {
  const seq = serial(db)
  await db.schema
    .createTable('files')
    .addColumn('seq', seq.type, seq.build)
    .addColumn('id', 'text', (c) => c.notNull().unique())
    .addColumn('organization_id', 'text', organization)
    .addColumn('workspace_id', 'text', workspace)
    .addColumn('filename', 'text', required)
    .addColumn('mime_type', 'text', required)
    .addColumn('size_bytes', 'bigint', required)
    .addColumn('purpose', 'text', required)
    .addColumn('created_at', 'text', required)
    .execute()
  await index(db, 'files_page', 'files', ['workspace_id', 'seq'])
}

async function uniqueWhere(
  db: Kysely<unknown>,
  name: string,
  table: string,
  columns: string[],
  condition: ReturnType<typeof sql>,
) {
  await sql`create unique index ${sql.ref(name)} on ${sql.table(table)} (${sql.join(columns.map((c) => sql.ref(c)))}) where ${condition}`.execute(
    db,
  )
}
