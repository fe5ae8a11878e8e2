import type { DataRegion } from '../formats/vocabulary.ts'
import type { KeyContext } from '../gateway/account-cache.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { computeEffectivePolicy, type EffectivePolicy } from '../governance/policy/effective.ts'
import { assertRegionAllowed } from '../governance/policy/guard.ts'
import { loadLayers, loadWorkspaceLayers } from '../governance/policy/store.ts'
import type { Workspace } from '../identity/workspaces.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import type { Caller } from './caller.ts'
import { resolveReachableWorkspace, type ScopedRequest } from './reachable-workspace.ts'

/** A request about what a workspace stores here. */
export interface WorkspaceRequest extends ScopedRequest {
  gateway: Gateway
  region: DataRegion
  query: { workspace_id?: string | undefined }
}

/** The workspace of a request, and the policy that applies there. */
export interface AuthorizedWorkspace {
  workspace: Workspace
  policy: EffectivePolicy
}

export async function authorizeStorage(request: WorkspaceRequest): Promise<AuthorizedWorkspace> {
  const { gateway, caller, region, query } = request
  if (region !== 'global') throw gatewayError('region_refused')
  const workspace = await resolveReachableWorkspace(gateway.db, request, query.workspace_id)
  const policy = await loadPolicy(gateway, caller, workspace)
  assertRegionAllowed(policy, region)
  return { workspace, policy }
}

/** A management key is subject to the workspace's policy, a member also to their own in any workspace. */
async function loadPolicy(gateway: Gateway, caller: Caller, workspace: Workspace): Promise<EffectivePolicy> {
  const context = await findWorkspaceContext(gateway, caller, workspace)
  if (context) return context.policy
  const { key, organizationId } = caller
  const layers = caller.session
    ? await loadLayers(gateway.db, { ...key, workspace_id: workspace.id })
    : await loadWorkspaceLayers(gateway.db, organizationId, workspace.id)
  return computeEffectivePolicy(layers)
}

/** Null unless the caller's key makes requests in this workspace. */
export async function findWorkspaceContext(
  { accounts }: Gateway,
  { key }: Caller,
  workspace: Workspace,
): Promise<KeyContext | null> {
  return key.kind === 'inference' && key.workspace_id === workspace.id ? accounts.findContext(key) : null
}
