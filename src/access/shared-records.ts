import { z } from 'zod'
import type { AuditRecord } from '../governance/audit/entry.ts'
import type { RecordEvent } from '../governance/audit/transaction.ts'
import { assertWithinScope } from '../identity/permissions/grant.ts'
import type { Permission } from '../identity/permissions/permissions.ts'
import type { RecordReader, Visibility } from '../identity/shared-records.ts'
import type { Db } from '../platform/db/db.ts'
import { invalidFieldError } from '../platform/errors/gateway-error.ts'
import { scopeOf } from './authorize.ts'
import { type Caller, callerIdOf } from './caller.ts'
import { resolveReachableWorkspace, type ScopedRequest } from './reachable-workspace.ts'

export const visibilityField = z.enum(['private', 'workspace', 'organization'])

/** Who sees a record, in the body of a request. */
export interface RecordAudience {
  visibility?: Visibility | undefined
  workspace_id?: string | undefined
}

/** The fields of an audience; `permission` is the one to share with. */
export function audienceFields(permission: Permission) {
  return {
    visibility: visibilityField
      .optional()
      .describe(
        `Who sees it: only its creator (the default), the members of a workspace, or everyone in the organization. Sharing requires the permission \`${permission}\` there.`,
      ),
    workspace_id: z.uuid().optional().describe('The workspace of the visibility `workspace`.'),
  }
}

export function hasMatchingWorkspace(body: RecordAudience): boolean {
  return (body.visibility === 'workspace') === (body.workspace_id !== undefined)
}

export const workspaceProblem = {
  path: ['workspace_id'],
  message: 'must be sent with the visibility "workspace", and only with it',
}

/** A caller sees what is shared with the workspaces that it may read. */
export function readerOf(caller: Caller): RecordReader {
  const { everywhere, workspaceIds } = scopeOf(caller, 'workspaces:read')
  return {
    organizationId: caller.organizationId,
    creator: callerIdOf(caller),
    workspaceIds: everywhere ? null : workspaceIds,
  }
}

type SharedRecord = AuditRecord & {
  id: string
  name: string
  visibility: Visibility
  workspace_id: string | null
  creator: string
}

/** Where a record is shown; the caller must be allowed to share it there. */
export async function resolveAudience(
  tx: Db,
  request: ScopedRequest,
  { visibility = 'private', workspace_id }: RecordAudience,
  permission: Permission,
): Promise<Pick<SharedRecord, 'visibility' | 'workspace_id'>> {
  if (visibility === 'private') return { visibility, workspace_id: null }
  const scope = scopeOf(request.caller, permission)
  if (visibility === 'workspace') {
    const workspace = await resolveReachableWorkspace(tx, { ...request, scope }, workspace_id)
    return { visibility, workspace_id: workspace.id }
  }
  assertWithinScope(scope, { workspaceId: null })
  return { visibility, workspace_id: null }
}

/** Throws unless the caller may change a record that it sees. */
export function assertChangeable(
  caller: Caller,
  { visibility, workspace_id: workspaceId }: Pick<SharedRecord, 'visibility' | 'workspace_id'>,
  permission: Permission,
): void {
  if (visibility !== 'private') assertWithinScope(scopeOf(caller, permission), { workspaceId })
}

/** Throws if somebody else than its creator makes a record private. */
export function assertOwnIfPrivate(
  caller: Caller,
  { creator }: Pick<SharedRecord, 'creator'>,
  { visibility }: RecordAudience,
): void {
  if (visibility === 'private' && creator !== callerIdOf(caller))
    throw invalidFieldError('visibility', 'can be made private only by its creator')
}

/** The fields of a record that say whose it is. */
export function describeCreator(creator: string, caller: string) {
  const [type, id = null] = creator.split(' ')
  return { created_by: type === 'member' ? id : null, is_own: creator === caller }
}

/** Only what others see is in the audit log. */
export function recordShared(
  record: RecordEvent,
  type: 'saved_view' | 'comparison',
  verb: 'create' | 'update' | 'delete',
  { before, after }: { before?: SharedRecord; after?: SharedRecord },
): void {
  const shared = [after, before].find((row) => row && row.visibility !== 'private')
  if (!shared) return
  const { id, name, workspace_id } = shared
  record({
    action: `${type}.${verb}`,
    target: { type, id, name },
    workspaceId: workspace_id,
    ...(before && { before }),
    ...(after && { after }),
  })
}
