import { z } from 'zod'
import {
  assertWithinScope,
  isWithinScope,
  type RecordPlace,
  type Scope,
} from '../identity/permissions/grant.ts'
import {
  listWorkspaceIds,
  requireDefaultWorkspace,
  resolveWorkspace,
  type Workspace,
} from '../identity/workspaces.ts'
import type { Db } from '../platform/db/db.ts'
import type { GatewayError } from '../platform/errors/gateway-error.ts'
import { type Caller, isInferenceKey } from './caller.ts'
import { allWorkspaces, workspaceHeader } from './session.ts'

/** The parts of an operation's context that say which workspaces its caller may act in. */
export interface ScopedRequest {
  caller: Caller
  scope: Scope
  httpRequest: Request
}

/**
 * The workspace that a request names, in which its caller must have the permission. Without a name it is the only
 * workspace of a caller who is limited to one, otherwise the default workspace.
 */
export async function resolveReachableWorkspace(
  db: Db,
  request: ScopedRequest,
  sentId: string | undefined,
): Promise<Workspace> {
  const { caller, scope } = request
  const id = findNamedWorkspace(request, sentId) ?? findOnlyWorkspace(scope)
  const workspace = await resolveWorkspace(db, caller.organizationId, id)
  assertWithinScope(scope, { workspaceId: workspace.id })
  return workspace
}

/** The workspace in the query of a list. */
export const listedWorkspace = z
  .uuid()
  .optional()
  .describe('Defaults to the default workspace, or to all workspaces of a caller who is limited to some.')

/** The workspaces of a list: the named one; or all of a caller who is limited to some; or the default one. */
export async function resolveListedWorkspaces(
  db: Db,
  request: ScopedRequest,
  sentId: string | undefined,
): Promise<string[]> {
  const { caller, scope } = request
  const named = await findReachableWorkspace(db, request, sentId)
  if (named) return [named.id]
  if (!scope.everywhere) return [...scope.workspaceIds]
  if (coversAllWorkspaces(request)) return listWorkspaceIds(db, caller.organizationId)
  return [(await requireDefaultWorkspace(db, caller.organizationId)).id]
}

/** The workspaces of a list that has those of the whole organization by default, which is null. */
export async function resolveCoveredWorkspaces(
  db: Db,
  request: ScopedRequest,
  sentId: string | undefined,
): Promise<ReadonlySet<string> | null> {
  const named = await findReachableWorkspace(db, request, sentId)
  if (named) return new Set([named.id])
  return request.scope.everywhere ? null : request.scope.workspaceIds
}

/** Null if the request names none. */
async function findReachableWorkspace(
  db: Db,
  request: ScopedRequest,
  sentId: string | undefined,
): Promise<Workspace | null> {
  const name = findNamedWorkspace(request, sentId)
  return name === undefined ? null : resolveReachableWorkspace(db, request, name)
}

function findNamedWorkspace(
  { caller, httpRequest }: ScopedRequest,
  sentId: string | undefined,
): string | undefined {
  const header = caller.session ? httpRequest.headers.get(workspaceHeader) : null
  return sentId ?? (header === allWorkspaces ? null : header) ?? undefined
}

/** Whether a session lists the records of all its workspaces. */
export function coversAllWorkspaces({ caller, httpRequest }: Omit<ScopedRequest, 'scope'>): boolean {
  return caller.session !== null && httpRequest.headers.get(workspaceHeader) === allWorkspaces
}

function findOnlyWorkspace({ everywhere, workspaceIds }: Scope): string | undefined {
  const [only] = workspaceIds
  return !everywhere && workspaceIds.size === 1 ? only : undefined
}

/** Throws unless the caller may act on a record. For an inference key, nothing exists outside its workspace. */
export function assertVisible(
  { caller, scope }: Pick<ScopedRequest, 'caller' | 'scope'>,
  place: RecordPlace,
  notFoundError: () => GatewayError,
): void {
  if (isInferenceKey(caller) && !isWithinScope(scope, place)) throw notFoundError()
  assertWithinScope(scope, place)
}
