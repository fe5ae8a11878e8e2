import { z } from 'zod'
import {
  assertWithinReach,
  isWithinReach,
  type Reach,
  type RecordPlace,
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
export interface ReachingRequest {
  caller: Caller
  reach: Reach
  httpRequest: Request
}

/**
 * The workspace that a request names, in which its caller must have the permission. Without a name it is the only
 * workspace of a caller who is limited to one, otherwise the default workspace.
 */
export async function resolveReachableWorkspace(
  db: Db,
  request: ReachingRequest,
  sentId: string | undefined,
): Promise<Workspace> {
  const { caller, reach } = request
  const id = findNamedWorkspace(request, sentId) ?? findOnlyWorkspace(reach)
  const workspace = await resolveWorkspace(db, caller.organizationId, id)
  assertWithinReach(reach, { workspaceId: workspace.id })
  return workspace
}

/** In the query of a list. */
export const listedWorkspace = z
  .uuid()
  .optional()
  .describe('Defaults to the default workspace, or to all workspaces of a caller who is limited to some.')

/** The workspaces of a list: the named one; or all of a caller who is limited to some; or the default one. */
export async function resolveListedWorkspaces(
  db: Db,
  request: ReachingRequest,
  sentId: string | undefined,
): Promise<string[]> {
  const { caller, reach } = request
  const named = await findReachableWorkspace(db, request, sentId)
  if (named) return [named.id]
  if (!reach.everywhere) return [...reach.workspaceIds]
  if (coversAllWorkspaces(request)) return listWorkspaceIds(db, caller.organizationId)
  return [(await requireDefaultWorkspace(db, caller.organizationId)).id]
}

/** The workspaces of a list that has those of the whole organization by default, which is null. */
export async function resolveCoveredWorkspaces(
  db: Db,
  request: ReachingRequest,
  sentId: string | undefined,
): Promise<ReadonlySet<string> | null> {
  const named = await findReachableWorkspace(db, request, sentId)
  if (named) return new Set([named.id])
  return request.reach.everywhere ? null : request.reach.workspaceIds
}

/** Null if the request names none. */
async function findReachableWorkspace(
  db: Db,
  request: ReachingRequest,
  sentId: string | undefined,
): Promise<Workspace | null> {
  const name = findNamedWorkspace(request, sentId)
  return name === undefined ? null : resolveReachableWorkspace(db, request, name)
}

function findNamedWorkspace(
  { caller, httpRequest }: ReachingRequest,
  sentId: string | undefined,
): string | undefined {
  const header = caller.session ? httpRequest.headers.get(workspaceHeader) : null
  return sentId ?? (header === allWorkspaces ? null : header) ?? undefined
}

/** Whether a session lists the records of all its workspaces. */
export function coversAllWorkspaces({ caller, httpRequest }: Omit<ReachingRequest, 'reach'>): boolean {
  return caller.session !== null && httpRequest.headers.get(workspaceHeader) === allWorkspaces
}

function findOnlyWorkspace({ everywhere, workspaceIds }: Reach): string | undefined {
  const [only] = workspaceIds
  return !everywhere && workspaceIds.size === 1 ? only : undefined
}

/** Throws unless the caller may act on a record. For an inference key, nothing exists outside its workspace. */
export function assertVisible(
  { caller, reach }: Pick<ReachingRequest, 'caller' | 'reach'>,
  place: RecordPlace,
  notFoundError: () => GatewayError,
): void {
  if (isInferenceKey(caller) && !isWithinReach(reach, place)) throw notFoundError()
  assertWithinReach(reach, place)
}
