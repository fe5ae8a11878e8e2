import { type RawBuilder, type Selectable, sql } from 'kysely'
import { type Guardrail, parseGuardrail } from '../../../governance/policy/guardrail.ts'
import type { ApiKey } from '../../../identity/keys.ts'
import type { Member } from '../../../identity/members.ts'
import type { Workspace } from '../../../identity/workspaces.ts'
import type { Db } from '../../../platform/db/db.ts'
import type { WorkspaceBudgetTable } from '../../../platform/db/schema.ts'
import type { TimePosition } from '../../../platform/time/time-cursor.ts'

export interface Page<Position> {
  /** The last record of the page before; null for the first page. */
  after: Position | null
  limit: number
}

function isAfter({ created_at, id }: TimePosition): RawBuilder<boolean> {
  return sql<boolean>`(created_at, id) > (${created_at}, ${id})`
}

/** Lists the given workspaces, or all if `ids` is null. */
export function listWorkspacesAfter(
  db: Db,
  organizationId: string,
  ids: readonly string[] | null,
  { after, limit }: Page<TimePosition>,
): Promise<Workspace[]> {
  let query = db
    .selectFrom('workspaces')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('deleted_at', 'is', null)
  if (ids) query = query.where('id', 'in', ids)
  if (after) query = query.where(isAfter(after))
  return query.orderBy('created_at').orderBy('id').limit(limit).execute()
}

/** Selects the members of a workspace, and those who created keys there. */
function selectMembersOf(db: Db, { organization_id, id: workspaceId }: Workspace) {
  return db
    .selectFrom('members')
    .selectAll()
    .where('organization_id', '=', organization_id)
    .where((eb) =>
      eb.or([
        eb.exists(
          eb
            .selectFrom('workspace_members')
            .select('workspace_members.id')
            .whereRef('user_id', '=', 'members.id')
            .where('workspace_id', '=', workspaceId),
        ),
        eb.exists(
          eb
            .selectFrom('api_keys')
            .select('api_keys.id')
            .whereRef('creator_user_id', '=', 'members.id')
            .where('workspace_id', '=', workspaceId)
            .where('kind', '=', 'inference'),
        ),
      ]),
    )
}

export function listMembersAfter(
  db: Db,
  workspace: Workspace,
  { after, limit }: Page<TimePosition>,
): Promise<Member[]> {
  let query = selectMembersOf(db, workspace)
  if (after) query = query.where(isAfter(after))
  return query.orderBy('created_at').orderBy('id').limit(limit).execute()
}

/** Undefined for a member whose name the readers of the workspace may not know. */
export function findMemberOf(db: Db, workspace: Workspace, userId: string): Promise<Member | undefined> {
  return selectMembersOf(db, workspace).where('members.id', '=', userId).executeTakeFirst()
}

/** The keys of a member in a workspace, or those without a creator, newest first. */
export function listKeysAfter(
  db: Db,
  workspaceId: string,
  creatorUserId: string | null,
  { after, limit }: Page<number>,
): Promise<ApiKey[]> {
  let query = db
    .selectFrom('api_keys')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('kind', '=', 'inference')
    .where('source', '!=', 'session')
    .where('creator_user_id', creatorUserId === null ? 'is' : '=', creatorUserId)
  if (after !== null) query = query.where('id', '<', after)
  return query.orderBy('id', 'desc').limit(limit).execute()
}

export type BudgetRow = Selectable<WorkspaceBudgetTable>

export async function loadBudgetsOf(db: Db, workspaceIds: readonly string[]): Promise<BudgetRow[]> {
  if (workspaceIds.length === 0) return []
  return db.selectFrom('workspace_budgets').selectAll().where('workspace_id', 'in', workspaceIds).execute()
}

/** The guardrails assigned to members in a workspace, by member. */
export async function loadMemberGuardrails(
  db: Db,
  workspaceId: string,
  userIds: readonly string[],
): Promise<Map<string, Guardrail>> {
  if (userIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('guardrail_members')
    .innerJoin('guardrails', 'guardrails.id', 'guardrail_members.guardrail_id')
    .selectAll('guardrails')
    .select('guardrail_members.user_id')
    .where('guardrail_members.workspace_id', '=', workspaceId)
    .where('guardrail_members.user_id', 'in', userIds)
    .execute()
  return new Map(rows.map((row) => [row.user_id, parseGuardrail(row)]))
}

/** The guardrails assigned to keys, by key. */
export async function loadKeyGuardrails(db: Db, keyIds: readonly number[]): Promise<Map<number, Guardrail>> {
  if (keyIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('guardrail_keys')
    .innerJoin('guardrails', 'guardrails.id', 'guardrail_keys.guardrail_id')
    .selectAll('guardrails')
    .select('guardrail_keys.key_id')
    .where('guardrail_keys.key_id', 'in', keyIds)
    .execute()
  return new Map(rows.map((row) => [row.key_id, parseGuardrail(row)]))
}
