import { sql } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import type { Schema } from '../platform/db/schema.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'

interface Ceiling {
  /** The default, which headgate.yaml can change. */
  defaultMax: number
  /** Names of the records and their owner in messages. */
  noun: string
  owner: string
  table: keyof Schema
  column: string
  /** Rows of deleted records do not count. */
  hasSoftDelete?: true
  /** Rows that the gateway created for itself do not count. */
  except?: { column: string; value: string }
}

/**
 * The maximum number of records of each kind per owner: far above what is needed in practice, far below what
 * slows down lists, joins and start-ups for others.
 */
export const recordCeilings = {
  keys: {
    ...perOrganization(10_000, 'API keys', 'api_keys'),
    except: { column: 'source', value: 'session' },
  },
  workspaces: { ...perOrganization(1000, 'workspaces', 'workspaces'), hasSoftDelete: true },
  members: perOrganization(50_000, 'members', 'members'),
  presets: perOrganization(1000, 'presets', 'presets'),
  preset_versions: {
    defaultMax: 1000,
    noun: 'versions',
    owner: 'preset',
    table: 'preset_versions',
    column: 'preset_id',
  },
  guardrails: perWorkspace(1000, 'guardrails', 'guardrails'),
  limits: perOrganization(20_000, 'limits', 'limits'),
  blocked_end_users: perOrganization(10_000, 'blocked end users', 'blocked_end_users'),
  erasures: perOrganization(10_000, 'deletions of end users', 'erasures'),
  limit_tiers: perOrganization(200, 'tiers', 'limit_tiers'),
  destinations: { ...perWorkspace(100, 'destinations', 'destinations'), hasSoftDelete: true },
  notification_rules: perOrganization(100, 'notification rules', 'notification_rules'),
  model_aliases: perOrganization(1000, 'model aliases', 'model_aliases'),
  routing_rules: perOrganization(100, 'routing rules', 'routing_rules'),
  shadows: perOrganization(50, 'shadows', 'shadows'),
  saved_views: {
    defaultMax: 200,
    noun: 'saved views',
    owner: 'member or key',
    table: 'saved_views',
    column: 'creator',
  },
  shared_views: {
    ...perOrganization(1000, 'shared views', 'saved_views'),
    except: { column: 'visibility', value: 'private' },
  },
  comparisons: {
    defaultMax: 100,
    noun: 'comparisons',
    owner: 'member or key',
    table: 'comparisons',
    column: 'creator',
  },
  shared_comparisons: {
    ...perOrganization(1000, 'shared comparisons', 'comparisons'),
    except: { column: 'visibility', value: 'private' },
  },
  managed_records: perOrganization(50_000, 'managed records', 'managed_records'),
  byok_keys: { ...perWorkspace(1000, 'BYOK keys', 'byok_keys'), hasSoftDelete: true },
  files: perWorkspace(10_000, 'files', 'files'),
  conversations: perWorkspace(50_000, 'conversations', 'conversations'),
  auth_codes: perOrganization(1000, 'authorization codes that have not expired', 'auth_codes'),
  apps: perOrganization(1000, 'apps', 'apps'),
  roles: perOrganization(200, 'custom roles', 'roles'),
  role_assignments: {
    defaultMax: 200,
    noun: 'role assignments',
    owner: 'member',
    table: 'role_assignments',
    column: 'user_id',
  },
  sessions: { defaultMax: 100, noun: 'sessions', owner: 'member', table: 'sessions', column: 'user_id' },
  passkeys: { defaultMax: 20, noun: 'passkeys', owner: 'member', table: 'passkeys', column: 'user_id' },
  invitations: perOrganization(1000, 'invitations', 'invitations'),
  scim_tokens: perOrganization(100, 'SCIM tokens', 'scim_tokens'),
  scim_groups: perOrganization(5000, 'SCIM groups', 'scim_groups'),
  scim_mappings: perOrganization(10_000, 'group mappings', 'scim_group_mappings'),
  scim_sync_jobs: perOrganization(1000, 'sync jobs', 'scim_sync_jobs'),
  sso_connections: perOrganization(20, 'connections', 'sso_connections'),
  sso_domains: perOrganization(1000, 'domains', 'sso_domains'),
  workload_issuers: perOrganization(100, 'issuers', 'workload_issuers'),
  workload_policies: perOrganization(1000, 'policies of workload identity', 'workload_policies'),
  feedback: {
    defaultMax: 100,
    noun: 'comments',
    owner: 'generation',
    table: 'generation_feedback',
    column: 'generation_id',
  },
  catalogue_edits: {
    defaultMax: 10_000,
    noun: 'edits',
    owner: 'catalog',
    table: 'catalogue_edits',
    column: 'name',
  },
} satisfies Record<string, Ceiling>

export type RecordKind = keyof typeof recordCeilings
export type Ceilings = Record<RecordKind, number>

function perOrganization(defaultMax: number, noun: string, table: keyof Schema): Ceiling {
  return { defaultMax, noun, owner: 'organization', table, column: 'organization_id' }
}

function perWorkspace(defaultMax: number, noun: string, table: keyof Schema): Ceiling {
  return { defaultMax, noun, owner: 'workspace', table, column: 'workspace_id' }
}

/** Called after the insert in its transaction, which is rolled back above the ceiling. */
export async function assertWithinCeiling(
  tx: Db,
  ceilings: Ceilings,
  kind: RecordKind,
  ownerId: string,
): Promise<void> {
  const { table, column, hasSoftDelete, except }: Ceiling = recordCeilings[kind]
  const max = ceilings[kind]
  const live = hasSoftDelete ? sql`and deleted_at is null` : sql``
  const counted = except ? sql`and ${sql.ref(except.column)} <> ${except.value}` : sql``
  const { rows } = await sql<{
    count: number
  }>`select count(*) as count from (select 1 from ${sql.table(table)}
    where ${sql.ref(column)} = ${ownerId} ${live} ${counted} limit ${max + 1}) as counted`.execute(tx)
  if (Number(rows[0]?.count ?? 0) > max) throw ceilingReachedError(kind, max)
}

/** Deletes the oldest records beyond the ceiling, for kinds that are not deleted manually. */
export async function deleteBeyondCeiling(
  tx: Db,
  ceilings: Ceilings,
  kind: 'sessions' | 'scim_sync_jobs',
  ownerId: string,
): Promise<void> {
  const { table, column } = recordCeilings[kind]
  const [rows, owner] = [sql.table(table), sql.ref(column)]
  await sql`delete from ${rows} where ${owner} = ${ownerId} and created_at < (
    select min(created_at) from (
      select created_at from ${rows} where ${owner} = ${ownerId} order by created_at desc limit ${ceilings[kind]}
    ) as newest)`.execute(tx)
}

export function ceilingReachedError(kind: RecordKind, max: number) {
  const { noun, owner }: Ceiling = recordCeilings[kind]
  return gatewayError(
    'ceiling_reached',
    `This ${owner} has reached the limit of ${max} ${noun} (ceilings.${kind}). Delete some, or ask the operator to raise the limit.`,
    { ceiling: kind, most: max },
  )
}
