import { type Expression, type Selectable, sql } from 'kysely'
import type { GuardrailRow } from '../../../governance/policy/guardrail.ts'
import type { ApiKey } from '../../../identity/keys.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import { containsText } from '../../../platform/db/contains-text.ts'
import { type Db, isPostgres, isUniqueViolation } from '../../../platform/db/db.ts'
import { fetchPage, type RowPage } from '../../../platform/db/page.ts'
import type { GuardrailKeyTable, GuardrailMemberTable } from '../../../platform/db/schema.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { type Clock, isoNow } from '../../../platform/time/clock.ts'
import type { Pagination } from '../../../platform/validation/query-params.ts'
import type { GuardrailSettings } from './body.ts'

export type KeyAssignment = Selectable<GuardrailKeyTable> &
  Record<'key_hash' | 'key_label' | 'key_name', string>
export type MemberAssignment = Selectable<GuardrailMemberTable>

export async function listGuardrails(
  db: Db,
  { workspaceIds, text }: { workspaceIds: readonly string[]; text: string | undefined },
  page: Pagination,
): Promise<RowPage<GuardrailRow>> {
  let all = db.selectFrom('guardrails').selectAll().where('workspace_id', 'in', workspaceIds)
  if (text !== undefined) all = all.where(containsText(['name', 'description'], text))
  return fetchPage(all, page)
}

export async function findGuardrail(
  db: Db,
  organizationId: string,
  id: string,
): Promise<GuardrailRow | undefined> {
  return db
    .selectFrom('guardrails')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Locks a guardrail, like `tryLockWorkspace`; the workspace is locked first if both are needed. */
export async function tryLockGuardrail(
  tx: Db,
  organizationId: string,
  id: string,
): Promise<GuardrailRow | undefined> {
  return tx
    .updateTable('guardrails')
    .set((eb) => ({ updated_at: eb.ref('updated_at') }))
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/** A guardrail of a workspace by its name. */
export async function findGuardrailByName(
  tx: Db,
  workspaceId: string,
  name: string,
): Promise<GuardrailRow | undefined> {
  return tx
    .selectFrom('guardrails')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('name', '=', name)
    .executeTakeFirst()
}

export interface NewGuardrail {
  id: string
  organizationId: string
  workspaceId: string | null
  settings: Partial<GuardrailSettings> & Pick<GuardrailSettings, 'name'>
}

/** Builds a row with the defaults of settings that were not sent. */
export function buildGuardrailRow(
  clock: Clock,
  { id, organizationId, workspaceId, settings }: NewGuardrail,
): GuardrailRow {
  const now = isoNow(clock)
  return {
    description: null,
    limit_nanos: null,
    reset_interval: null,
    include_byok_in_budgets: 0,
    allowed_data_regions: null,
    allowed_models: null,
    ignored_models: null,
    allowed_providers: null,
    ignored_providers: null,
    content_filter_builtins: null,
    content_filters: null,
    enable_free_model_publication: null,
    enable_free_model_training: null,
    enable_paid_model_training: null,
    enforce_zdr: null,
    dry_run: 0,
    unscannable_content: null,
    moderation: null,
    external_checks: null,
    sealed_check_secrets: null,
    enforce_zdr_vendor_a: null,
    enforce_zdr_vendor_b: null,
    enforce_zdr_vendor_c: null,
    enforce_zdr_vendor_d: null,
    enforce_zdr_other: null,
    ...settings,
    id,
    organization_id: organizationId,
    workspace_id: workspaceId,
    created_at: now,
    updated_at: now,
  }
}

export async function createGuardrail(db: Db, clock: Clock, input: NewGuardrail): Promise<GuardrailRow> {
  const row = buildGuardrailRow(clock, input)
  try {
    await db.insertInto('guardrails').values(row).execute()
    return row
  } catch (error) {
    throw nameConflictError(error, row.name)
  }
}

/** A concurrent insert of the same guardrail wins. */
export async function createGuardrailIfAbsent(tx: Db, clock: Clock, input: NewGuardrail): Promise<void> {
  await tx
    .insertInto('guardrails')
    .values(buildGuardrailRow(clock, input))
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
}

export async function updateGuardrail(
  tx: Db,
  clock: Clock,
  id: string,
  changes: Partial<GuardrailSettings>,
): Promise<GuardrailRow> {
  try {
    return await tx
      .updateTable('guardrails')
      .set({ ...changes, updated_at: isoNow(clock) })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow()
  } catch (error) {
    throw nameConflictError(error, changes.name)
  }
}

function nameConflictError(error: unknown, name: string | undefined): unknown {
  return isUniqueViolation(error)
    ? gatewayError('conflict', `name: another guardrail of the workspace is named "${name}".`)
    : error
}

/** Deletes a guardrail; its assignments are deleted with it. */
export async function deleteGuardrail(tx: Db, id: string): Promise<void> {
  await tx.deleteFrom('guardrails').where('id', '=', id).execute()
}

export async function listWorkspaceIds(db: Db, organizationId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('workspaces')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('deleted_at', 'is', null)
    .execute()
  return rows.map((row) => row.id)
}

/** The assignments of an organization, of some of its workspaces, or of one guardrail. */
export interface AssignmentScope {
  organizationId: string
  /** Null: all. */
  workspaceIds?: ReadonlySet<string> | null
  guardrailId?: string
}

export async function listKeyAssignments(
  db: Db,
  { organizationId, workspaceIds, guardrailId }: AssignmentScope,
  page: Pagination,
): Promise<RowPage<KeyAssignment>> {
  let all = db
    .selectFrom('guardrail_keys')
    .innerJoin('api_keys', 'api_keys.id', 'guardrail_keys.key_id')
    .selectAll('guardrail_keys')
    .select(['api_keys.hash as key_hash', 'api_keys.label as key_label', 'api_keys.name as key_name'])
    .where('guardrail_keys.organization_id', '=', organizationId)
  if (guardrailId !== undefined) all = all.where('guardrail_keys.guardrail_id', '=', guardrailId)
  if (workspaceIds) all = all.where('api_keys.workspace_id', 'in', [...workspaceIds])
  return fetchPage(all, page, ['guardrail_keys.created_at', 'guardrail_keys.id'])
}

export async function listMemberAssignments(
  db: Db,
  { organizationId, workspaceIds, guardrailId }: AssignmentScope,
  page: Pagination,
): Promise<RowPage<MemberAssignment>> {
  let all = db.selectFrom('guardrail_members').selectAll().where('organization_id', '=', organizationId)
  if (guardrailId !== undefined) all = all.where('guardrail_id', '=', guardrailId)
  if (workspaceIds) all = all.where('workspace_id', 'in', [...workspaceIds])
  return fetchPage(all, page)
}

/** Finds inference keys by hash and locks them against deletion until the transaction ends. */
export async function lockKeys(
  tx: Db,
  organizationId: string,
  hashes: string[],
): Promise<Pick<ApiKey, 'id' | 'hash' | 'workspace_id'>[]> {
  const query = tx
    .selectFrom('api_keys')
    .select(['id', 'hash', 'workspace_id'])
    .where('organization_id', '=', organizationId)
    .where('kind', '=', 'inference')
    .where('hash', 'in', hashes)
    .orderBy('id')
  return (isPostgres(tx) ? query.forKeyShare() : query).execute()
}

/** The same for members. */
export async function lockMembers(tx: Db, organizationId: string, ids: string[]): Promise<string[]> {
  const query = tx
    .selectFrom('members')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('id', 'in', ids)
    .orderBy('id')
  const rows = await (isPostgres(tx) ? query.forKeyShare() : query).execute()
  return rows.map((row) => row.id)
}

/** The storage of the assignments of keys or members. */
export interface AssignmentTable {
  table: 'guardrail_keys' | 'guardrail_members'
  idColumn: 'key_id' | 'user_id'
  /** Columns of the guardrail within which a key or member has at most one. */
  scopeColumns: readonly 'workspace_id'[]
  /** The values of `idColumn` for the names a client sends. */
  selectIds(tx: Db, organizationId: string, names: string[]): Expression<unknown> | string[]
}

export const keyAssignments: AssignmentTable = {
  table: 'guardrail_keys',
  idColumn: 'key_id',
  scopeColumns: [],
  selectIds: (tx, organizationId, hashes) =>
    tx
      .selectFrom('api_keys')
      .select('id')
      .where('organization_id', '=', organizationId)
      .where('hash', 'in', hashes),
}

export const memberAssignments: AssignmentTable = {
  table: 'guardrail_members',
  idColumn: 'user_id',
  scopeColumns: ['workspace_id'],
  selectIds: (_tx, _organizationId, userIds) => userIds,
}

export interface NewAssignments {
  guardrail: GuardrailRow
  by: string | null
  ids: (number | string)[]
}

/** Replaces the guardrail of keys or members; one that already has this guardrail keeps its assignment. */
export async function assignGuardrail(
  tx: Db,
  clock: Clock,
  { table, idColumn, scopeColumns }: AssignmentTable,
  { guardrail, by, ids }: NewAssignments,
): Promise<void> {
  const previous = tx
    .deleteFrom(table)
    .where(sql.ref(idColumn), 'in', ids)
    .where('guardrail_id', '!=', guardrail.id)
  await scopeColumns
    .reduce((query, column) => query.where(sql.ref(column), '=', guardrail[column]), previous)
    .execute()
  const scope = Object.fromEntries(scopeColumns.map((column) => [column, guardrail[column]]))
  await tx
    .insertInto(table)
    .values(ids.map((id) => ({ ...buildAssignment(clock, guardrail, by), ...scope, [idColumn]: id })))
    .onConflict((conflict) => conflict.columns([idColumn, ...scopeColumns]).doNothing())
    .execute()
}

function buildAssignment(clock: Clock, guardrail: GuardrailRow, by: string | null) {
  return {
    id: newUuid(),
    organization_id: guardrail.organization_id,
    guardrail_id: guardrail.id,
    assigned_by: by,
    created_at: isoNow(clock),
  }
}

/** Returns how many had this guardrail. */
export async function unassignGuardrail(
  tx: Db,
  { table, idColumn, selectIds }: AssignmentTable,
  guardrail: GuardrailRow,
  names: string[],
): Promise<number> {
  const result = await tx
    .deleteFrom(table)
    .where('guardrail_id', '=', guardrail.id)
    .where(sql.ref(idColumn), 'in', selectIds(tx, guardrail.organization_id, names))
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}

/** The keys and members that a guardrail is assigned to. */
export interface Assignees {
  keyIds: ReadonlySet<number>
  userIds: ReadonlySet<string>
}

export async function loadAssignees(db: Db, { id }: Pick<GuardrailRow, 'id'>): Promise<Assignees> {
  const keys = await db.selectFrom('guardrail_keys').select('key_id').where('guardrail_id', '=', id).execute()
  const members = await db
    .selectFrom('guardrail_members')
    .select('user_id')
    .where('guardrail_id', '=', id)
    .execute()
  return {
    keyIds: new Set(keys.map((row) => row.key_id)),
    userIds: new Set(members.map((row) => row.user_id)),
  }
}
