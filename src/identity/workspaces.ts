import type { Selectable } from 'kysely'
import { newUuid, uuidPattern } from '../platform/crypto/ids.ts'
import { type Db, isUniqueViolation } from '../platform/db/db.ts'
import type { BudgetInterval, WorkspaceTable } from '../platform/db/schema.ts'
import { decodeList } from '../platform/db/values.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'

export type Workspace = Selectable<WorkspaceTable>

export const slugPattern = /^[a-z0-9]+(?:-[a-z0-9]+)*$/

export type WorkspaceSettings = Omit<
  WorkspaceTable,
  'id' | 'organization_id' | 'is_default' | 'created_by' | 'created_at' | 'updated_at' | 'deleted_at'
>

export type NewWorkspace = Partial<WorkspaceSettings> & Pick<WorkspaceSettings, 'slug' | 'name'>

export async function createWorkspace(
  db: Db,
  clock: Clock,
  owner: { organizationId: string; createdBy: string | null; isDefault?: boolean },
  input: NewWorkspace,
): Promise<Workspace> {
  try {
    return await db
      .insertInto('workspaces')
      .values({
        description: null,
        default_text_model: null,
        default_image_model: null,
        default_provider_sort: null,
        include_byok_in_budgets: 0,
        io_logging_enabled: 0,
        io_logging_sampling_rate: 1,
        io_logging_api_key_ids: null,
        data_discount_logging_enabled: 0,
        broadcast_enabled: 1,
        prompt_caching: 1,
        disabled_server_tools: null,
        tag_rules: null,
        video_callback_url: null,
        sealed_video_secret: null,
        ...input,
        id: newUuid(),
        organization_id: owner.organizationId,
        is_default: owner.isDefault ? 1 : 0,
        created_by: owner.createdBy,
        created_at: isoNow(clock),
        updated_at: null,
        deleted_at: null,
      })
      .returningAll()
      .executeTakeFirstOrThrow()
  } catch (error) {
    throw slugConflictError(error, input.slug)
  }
}

export async function updateWorkspace(
  db: Db,
  clock: Clock,
  id: string,
  changes: Partial<WorkspaceSettings>,
): Promise<Workspace> {
  try {
    return await db
      .updateTable('workspaces')
      .set({ ...changes, updated_at: isoNow(clock) })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow()
  } catch (error) {
    throw slugConflictError(error, changes.slug)
  }
}

function slugConflictError(error: unknown, slug: string | undefined): unknown {
  return isUniqueViolation(error)
    ? gatewayError('conflict', `slug: another workspace is named "${slug}".`)
    : error
}

/** A UUID or a slug; other text names no workspace and is not looked up. */
function resolveColumn(ref: string): 'id' | 'slug' | undefined {
  if (uuidPattern.test(ref)) return 'id'
  return slugPattern.test(ref) ? 'slug' : undefined
}

async function findWorkspace(db: Db, organizationId: string, ref: string): Promise<Workspace | undefined> {
  const column = resolveColumn(ref)
  if (!column) return undefined
  return db
    .selectFrom('workspaces')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where(column, '=', ref.toLowerCase())
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
}

export async function findWorkspaceId(
  db: Db,
  organizationId: string,
  slug: string,
): Promise<string | undefined> {
  return (await findWorkspace(db, organizationId, slug))?.id
}

/**
 * Finds a workspace and locks it against other changes until the transaction ends: a no-op update takes a row lock
 * in both databases. If several locks are needed, the order is organization, workspace, member.
 */
export async function tryLockWorkspace(
  tx: Db,
  organizationId: string,
  ref: string,
): Promise<Workspace | undefined> {
  const column = resolveColumn(ref)
  if (!column) return undefined
  return tx
    .updateTable('workspaces')
    .set((eb) => ({ updated_at: eb.ref('updated_at') }))
    .where('organization_id', '=', organizationId)
    .where(column, '=', ref.toLowerCase())
    .where('deleted_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
}

export async function lockWorkspace(tx: Db, organizationId: string, ref: string): Promise<Workspace> {
  const workspace = await tryLockWorkspace(tx, organizationId, ref)
  if (!workspace) throw workspaceNotFoundError()
  return workspace
}

function workspaceNotFoundError() {
  return gatewayError('not_found', 'The workspace does not exist.')
}

export async function requireWorkspace(db: Db, organizationId: string, ref: string): Promise<Workspace> {
  const workspace = await findWorkspace(db, organizationId, ref)
  if (!workspace) throw workspaceNotFoundError()
  return workspace
}

/**
 * Resolves a workspace in a body, query or header, where `field` names it: one the caller may not access is 403, not
 * 404.
 */
export async function resolveWorkspace(
  db: Db,
  organizationId: string,
  id: string | undefined,
  field = 'workspace_id',
): Promise<Workspace> {
  if (id === undefined) return requireDefaultWorkspace(db, organizationId)
  const workspace = await findWorkspace(db, organizationId, id)
  if (!workspace) throw gatewayError('forbidden', `${field}: the caller cannot access that workspace.`)
  return workspace
}

/** The slugs of workspaces, deleted ones too. */
export async function listWorkspaceNames(
  db: Db,
  ids: readonly string[],
): Promise<Pick<Workspace, 'id' | 'slug' | 'organization_id'>[]> {
  if (ids.length === 0) return []
  return db
    .selectFrom('workspaces')
    .select(['id', 'slug', 'organization_id'])
    .where('id', 'in', ids)
    .execute()
}

export async function listWorkspaceIds(db: Db, organizationId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('workspaces')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('deleted_at', 'is', null)
    .execute()
  return rows.map(({ id }) => id)
}

export async function requireDefaultWorkspace(db: Db, organizationId: string): Promise<Workspace> {
  const workspace = await findDefaultWorkspace(db, organizationId)
  if (!workspace)
    throw gatewayError('invalid_request', 'workspace_id: is required, because there is no default workspace.')
  return workspace
}

/** Undefined once it is deleted, until the next workspace is created. */
export async function findDefaultWorkspace(db: Db, organizationId: string): Promise<Workspace | undefined> {
  return db
    .selectFrom('workspaces')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('is_default', '=', 1)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
}

/** A management key acts in all workspaces but belongs to the first, whose row exists even after its deletion. */
export async function findFirstWorkspaceId(db: Db, organizationId: string): Promise<string> {
  const { id } = await db
    .selectFrom('workspaces')
    .select('id')
    .where('organization_id', '=', organizationId)
    .orderBy('created_at')
    .orderBy('id')
    .executeTakeFirstOrThrow()
  return id
}

interface WorkspaceDefaults {
  defaultModel: string | null
  defaultSort: string | null
  disabledServerTools: string[]
  /** JSON. */
  tagRules: string | null
  /** Whether breakpoints for the prompt caches of providers are added to its requests. */
  cachesPrompts: boolean
}

/** Finds the defaults for requests, the server tools that requests must not name, and the rules about their tags. */
export async function findWorkspaceDefaults(db: Db, workspaceId: string): Promise<WorkspaceDefaults> {
  const row = await db
    .selectFrom('workspaces')
    .select([
      'default_text_model',
      'default_provider_sort',
      'disabled_server_tools',
      'tag_rules',
      'prompt_caching',
    ])
    .where('id', '=', workspaceId)
    .executeTakeFirst()
  return {
    defaultModel: row?.default_text_model ?? null,
    defaultSort: row?.default_provider_sort ?? null,
    disabledServerTools: decodeList(row?.disabled_server_tools ?? null) ?? [],
    tagRules: row?.tag_rules ?? null,
    cachesPrompts: row?.prompt_caching !== 0,
  }
}

/** The requests of a workspace whose prompts and replies are stored. */
export interface IoLoggingSettings {
  /** Share of requests, from 0.0001 to 1. */
  samplingRate: number
  /** Null: those of all keys. */
  keyIds: ReadonlySet<number> | null
}

/** Null if nothing is stored. */
export async function loadIoLogging(db: Db, workspaceId: string): Promise<IoLoggingSettings | null> {
  const row = await db
    .selectFrom('workspaces')
    .select(['io_logging_sampling_rate', 'io_logging_api_key_ids'])
    .where('id', '=', workspaceId)
    .where('io_logging_enabled', '=', 1)
    .executeTakeFirst()
  if (!row) return null
  const ids = decodeList<number>(row.io_logging_api_key_ids)
  return { samplingRate: row.io_logging_sampling_rate, keyIds: ids && new Set(ids) }
}

export interface WorkspaceBudgets {
  includeByok: boolean
  /** Limits in nano-dollars. */
  limits: ReadonlyMap<BudgetInterval, bigint>
}

export async function loadWorkspaceBudgets(db: Db, workspaceId: string): Promise<WorkspaceBudgets> {
  const rows = await db
    .selectFrom('workspace_budgets')
    .innerJoin('workspaces', 'workspaces.id', 'workspace_budgets.workspace_id')
    .select(['interval', 'limit_nanos', 'include_byok_in_budgets'])
    .where('workspace_id', '=', workspaceId)
    .execute()
  return {
    includeByok: rows.some((row) => row.include_byok_in_budgets === 1),
    limits: new Map(rows.map(({ interval, limit_nanos }) => [interval, limit_nanos])),
  }
}
