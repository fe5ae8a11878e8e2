import { sql } from 'kysely'
import type { Db } from '../db/db.ts'
import type { Schema } from '../db/schema.ts'
import { fail } from '../errors.ts'

interface Ceiling {
  /** How many there may be, unless headgate.yaml says otherwise. */
  most: number
  /** What is counted, and what one of its owners is called. */
  noun: string
  owner: string
  table: keyof Schema
  column: string
  /** Deleted ones stay as rows, and do not count. */
  isSoft?: true
}

/**
 * The most records of each kind that one owner may have: far beyond what anybody needs, far below what would make
 * lists, joins and start-ups slow for others.
 */
export const recordCeilings = {
  keys: inOrganization(10_000, 'API keys', 'api_keys'),
  workspaces: { ...inOrganization(1000, 'workspaces', 'workspaces'), isSoft: true },
  members: inOrganization(50_000, 'members', 'members'),
  presets: inOrganization(1000, 'presets', 'presets'),
  preset_versions: {
    most: 1000,
    noun: 'versions',
    owner: 'preset',
    table: 'preset_versions',
    column: 'preset_id',
  },
  guardrails: inWorkspace(1000, 'guardrails', 'guardrails'),
  destinations: { ...inWorkspace(100, 'destinations', 'destinations'), isSoft: true },
  byok_keys: { ...inWorkspace(1000, 'provider credentials', 'byok_keys'), isSoft: true },
  files: inWorkspace(10_000, 'files', 'files'),
  conversations: inWorkspace(50_000, 'conversations', 'conversations'),
  auth_codes: inOrganization(1000, 'authorization codes that have not expired', 'auth_codes'),
  apps: inOrganization(1000, 'apps', 'apps'),
  sessions: { most: 100, noun: 'sessions', owner: 'member', table: 'sessions', column: 'user_id' },
  scim_tokens: inOrganization(100, 'SCIM tokens', 'scim_tokens'),
  scim_groups: inOrganization(5000, 'SCIM groups', 'scim_groups'),
  scim_mappings: inOrganization(10_000, 'group mappings', 'scim_group_mappings'),
  scim_sync_jobs: inOrganization(1000, 'sync jobs', 'scim_sync_jobs'),
  feedback: {
    most: 100,
    noun: 'comments',
    owner: 'generation',
    table: 'generation_feedback',
    column: 'generation_id',
  },
  catalogue_edits: {
    most: 10_000,
    noun: 'edits',
    owner: 'catalogue',
    table: 'catalogue_edits',
    column: 'name',
  },
} satisfies Record<string, Ceiling>

export type RecordKind = keyof typeof recordCeilings
export type Ceilings = Record<RecordKind, number>

function inOrganization(most: number, noun: string, table: keyof Schema): Ceiling {
  return { most, noun, owner: 'organization', table, column: 'organization_id' }
}

function inWorkspace(most: number, noun: string, table: keyof Schema): Ceiling {
  return { most, noun, owner: 'workspace', table, column: 'workspace_id' }
}

/** Called in the transaction that has just made one: beyond the ceiling nothing of it stays. */
export async function refuseBeyond(
  tx: Db,
  ceilings: Ceilings,
  kind: RecordKind,
  ownerId: string,
): Promise<void> {
  const { table, column, isSoft }: Ceiling = recordCeilings[kind]
  const most = ceilings[kind]
  const live = isSoft ? sql`and deleted_at is null` : sql``
  const { rows } = await sql<{
    count: number
  }>`select count(*) as count from (select 1 from ${sql.table(table)}
    where ${sql.ref(column)} = ${ownerId} ${live} limit ${most + 1}) as counted`.execute(tx)
  if (Number(rows[0]?.count ?? 0) > most) throw ceilingReached(kind, most)
}

/** For records that nobody would want to delete by hand: the oldest make room for the new one. */
export async function dropBeyond(
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

export function ceilingReached(kind: RecordKind, most: number) {
  const { noun, owner }: Ceiling = recordCeilings[kind]
  return fail(
    'ceiling_reached',
    `This ${owner} has ${most} ${noun}, the most it may have (ceilings.${kind}). Delete some, or ask the operator for more.`,
    { ceiling: kind, most },
  )
}
