import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { flag, index, key, organization, required, workspace } from './columns.ts'

export const policies: Migration = {
  async up(db) {
    await createGuardrails(db)
    await createPresets(db)
    await createDestinations(db)
    await createByok(db)
    await createScim(db)
    await createScimMappings(db)
    await extendAccounts(db)
  },
}

async function createGuardrails(db: Kysely<unknown>) {
  let table = db.schema
    .createTable('guardrails')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('workspace_id', 'text')
    .addColumn('name', 'text', required)
    .addColumn('description', 'text')
    .addColumn('limit_nanos', 'bigint')
    .addColumn('reset_interval', 'text')
    .addColumn('include_byok_in_budgets', 'integer', flag)
  const lists = ['allowed_data_regions', 'allowed_models', 'ignored_models', 'allowed_providers']
  for (const list of [...lists, 'ignored_providers', 'content_filter_builtins', 'content_filters']) {
    table = table.addColumn(list, 'text')
  }
  const switches = [
    'enable_free_model_publication',
    'enable_free_model_training',
    'enable_paid_model_training',
  ]
  const vendors = ['vendor_a', 'vendor_b', 'vendor_c', 'vendor_d', 'other']
  for (const name of [...switches, 'enforce_zdr', ...vendors.map((vendor) => `enforce_zdr_${vendor}`)]) {
    table = table.addColumn(name, 'integer')
  }
  await table.addColumn('created_at', 'text', required).addColumn('updated_at', 'text', required).execute()
  await db.schema
    .createIndex('guardrails_name')
    .unique()
    .on('guardrails')
    .columns(['organization_id', 'workspace_id', 'name'])
    .execute()
  await db.schema
    .createTable('guardrail_keys')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('guardrail_id', 'text', (c) => c.notNull().references('guardrails.id').onDelete('cascade'))
    .addColumn('key_id', 'bigint', (c) => c.notNull().references('api_keys.id').onDelete('cascade').unique())
    .addColumn('assigned_by', 'text')
    .addColumn('created_at', 'text', required)
    .execute()
  await db.schema
    .createTable('guardrail_members')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('guardrail_id', 'text', (c) => c.notNull().references('guardrails.id').onDelete('cascade'))
    .addColumn('workspace_id', 'text')
    .addColumn('user_id', 'text', (c) => c.notNull().references('members.id').onDelete('cascade'))
    .addColumn('assigned_by', 'text')
    .addColumn('created_at', 'text', required)
    .addUniqueConstraint('guardrail_members_once', ['user_id', 'workspace_id'])
    .execute()
  for (const name of ['guardrail_keys', 'guardrail_members']) {
    await index(db, `${name}_page`, name, ['guardrail_id', 'created_at', 'id'])
    await index(db, `${name}_organization`, name, ['organization_id', 'created_at', 'id'])
  }
}

async function createPresets(db: Kysely<unknown>) {
  await db.schema
    .createTable('presets')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('workspace_id', 'text')
    .addColumn('slug', 'text', required)
    .addColumn('name', 'text', required)
    .addColumn('description', 'text')
    .addColumn('status', 'text', required)
    .addColumn('status_updated_at', 'text')
    .addColumn('designated_version_id', 'text')
    .addColumn('creator_user_id', 'text')
    .addColumn('created_at', 'text', required)
    .addColumn('updated_at', 'text', required)
    .addUniqueConstraint('presets_slug', ['organization_id', 'slug'])
    .execute()
  await index(db, 'presets_page', 'presets', ['organization_id', 'updated_at', 'id'])
  await db.schema
    .createTable('preset_versions')
    .addColumn('id', 'text', key)
    .addColumn('preset_id', 'text', (c) => c.notNull().references('presets.id').onDelete('cascade'))
    .addColumn('version', 'integer', required)
    .addColumn('format', 'text', required)
    .addColumn('system_prompt', 'text')
    .addColumn('config', 'text', required)
    .addColumn('creator_id', 'text', required)
    .addColumn('created_at', 'text', required)
    .addColumn('updated_at', 'text', required)
    .addUniqueConstraint('preset_versions_once', ['preset_id', 'version'])
    .execute()
}

async function createDestinations(db: Kysely<unknown>) {
  await db.schema
    .createTable('destinations')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('workspace_id', 'text', workspace)
    .addColumn('type', 'text', required)
    .addColumn('name', 'text')
    .addColumn('enabled', 'integer', flag)
    .addColumn('privacy_mode', 'integer', flag)
    .addColumn('broadcast_generation_cost', 'integer', flag)
    .addColumn('broadcast_generation_identity', 'integer', flag)
    .addColumn('broadcast_generation_request_context', 'integer', flag)
    .addColumn('sampling_rate', 'double precision', required)
    .addColumn('regions', 'text', required)
    .addColumn('api_key_hashes', 'text')
    .addColumn('filter_rules', 'text')
    .addColumn('config', 'text', required)
    .addColumn('sealed_secrets', 'text', required)
    .addColumn('secrets_origin', 'text')
    .addColumn('created_at', 'text', required)
    .addColumn('updated_at', 'text', required)
    .addColumn('deleted_at', 'text')
    .execute()
  await index(db, 'destinations_page', 'destinations', ['workspace_id', 'created_at', 'id'])
}

async function createByok(db: Kysely<unknown>) {
  await db.schema
    .createTable('byok_keys')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('workspace_id', 'text')
    .addColumn('provider', 'text', required)
    .addColumn('name', 'text')
    .addColumn('label', 'text', required)
    .addColumn('sealed_key', 'text')
    .addColumn('disabled', 'integer', flag)
    .addColumn('is_fallback', 'integer', flag)
    .addColumn('is_byok_only', 'integer', flag)
    .addColumn('is_required', 'integer', flag)
    .addColumn('declared_zdr', 'integer')
    .addColumn('allowed_models', 'text')
    .addColumn('allowed_api_key_hashes', 'text')
    .addColumn('allowed_user_ids', 'text')
    .addColumn('sort_order', 'integer', required)
    .addColumn('created_at', 'text', required)
    .addColumn('updated_at', 'text', required)
    .addColumn('deleted_at', 'text')
    .execute()
  await index(db, 'byok_keys_page', 'byok_keys', [
    'organization_id',
    'workspace_id',
    'provider',
    'sort_order',
  ])
}

async function createScim(db: Kysely<unknown>) {
  await db.schema
    .createTable('scim_tokens')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('token_hash', 'text', (c) => c.notNull().unique())
    .addColumn('label', 'text', required)
    .addColumn('name', 'text', required)
    .addColumn('created_at', 'text', required)
    .execute()
  await db.schema
    .createTable('scim_users')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('user_id', 'text', (c) => c.notNull().references('members.id').onDelete('cascade').unique())
    .addColumn('user_name', 'text', required)
    .addColumn('external_id', 'text')
    .addColumn('resource', 'text', required)
    .addColumn('created_at', 'text', required)
    .addColumn('updated_at', 'text', required)
    .addUniqueConstraint('scim_users_name', ['organization_id', 'user_name'])
    .execute()
  await index(db, 'scim_users_external', 'scim_users', ['organization_id', 'external_id'])
  await db.schema
    .createTable('scim_groups')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('external_id', 'text')
    .addColumn('display_name', 'text', required)
    .addColumn('created_at', 'text', required)
    .addColumn('updated_at', 'text', required)
    .execute()
  await index(db, 'scim_groups_page', 'scim_groups', ['organization_id', 'created_at', 'id'])
  await db.schema
    .createTable('scim_group_members')
    .addColumn('group_id', 'text', (c) => c.notNull().references('scim_groups.id').onDelete('cascade'))
    .addColumn('scim_user_id', 'text', (c) => c.notNull().references('scim_users.id').onDelete('cascade'))
    .addPrimaryKeyConstraint('scim_group_members_once', ['group_id', 'scim_user_id'])
    .execute()
  await index(db, 'scim_group_members_user', 'scim_group_members', ['scim_user_id'])
}

async function createScimMappings(db: Kysely<unknown>) {
  await db.schema
    .createTable('scim_group_mappings')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('scim_group_id', 'text', (c) => c.notNull().references('scim_groups.id').onDelete('cascade'))
    .addColumn('workspace_id', 'text', workspace)
    .addColumn('role', 'text', required)
    .addColumn('created_at', 'text', required)
    .addColumn('updated_at', 'text', required)
    .addUniqueConstraint('scim_group_mappings_once', ['scim_group_id', 'workspace_id'])
    .execute()
  await index(db, 'scim_group_mappings_page', 'scim_group_mappings', ['organization_id', 'created_at', 'id'])
  await db.schema
    .createTable('scim_sync_jobs')
    .addColumn('id', 'text', key)
    .addColumn('organization_id', 'text', organization)
    .addColumn('status', 'text', required)
    .addColumn('created_at', 'text', required)
    .addColumn('started_at', 'text')
    .addColumn('finished_at', 'text')
    .addColumn('synced_groups', 'integer')
    .addColumn('deleted_groups', 'integer')
    .addColumn('error_message', 'text')
    .execute()
}

/** Adds the columns of the account tables that identity providers need. */
async function extendAccounts(db: Kysely<unknown>) {
  await db.schema
    .alterTable('members')
    .addColumn('active', 'integer', (c) => c.notNull().defaultTo(1))
    .execute()
  await db.schema.alterTable('api_keys').addColumn('suspended', 'integer', flag).execute()
  await db.schema
    .alterTable('workspace_members')
    .addColumn('is_manual', 'integer', (c) => c.notNull().defaultTo(1))
    .execute()
  await sql`create unique index guardrails_account on guardrails (organization_id) where workspace_id is null`.execute(
    db,
  )
}
