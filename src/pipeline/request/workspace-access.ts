import { resolveWorkspace, type Workspace } from '../../account/workspaces.ts'
import type { Gateway } from '../../app/gateway.ts'
import type { DataRegion } from '../../catalogue/vocabulary.ts'
import { gatewayError } from '../../errors/gateway-error.ts'
import { computeEffectivePolicy, type EffectivePolicy } from '../../policy/effective.ts'
import { assertRegionAllowed } from '../../policy/guard.ts'
import { loadWorkspaceLayers } from '../../policy/store.ts'
import type { Caller } from './caller.ts'

/** A request about what a workspace stores here. */
export interface WorkspaceRequest {
  gateway: Gateway
  caller: Caller
  region: DataRegion
  query: { workspace_id?: string | undefined }
}

/** The workspace of a request, and the policy that applies there. */
export interface AuthorizedWorkspace {
  workspace: Workspace
  policy: EffectivePolicy
}

/** An inference key's own workspace; for a management key, any of its organization. */
export async function authorizeStorage({
  gateway,
  caller,
  region,
  query,
}: WorkspaceRequest): Promise<AuthorizedWorkspace> {
  if (region !== 'global') throw gatewayError('region_refused')
  const { kind, workspace_id: keyWorkspaceId } = caller.key
  const requestedId = query.workspace_id?.toLowerCase()
  if (kind === 'inference' && requestedId !== undefined && requestedId !== keyWorkspaceId) {
    throw gatewayError('forbidden', 'workspace_id: this key cannot access that workspace.')
  }
  const id = kind === 'inference' ? keyWorkspaceId : requestedId
  const workspace = await resolveWorkspace(gateway.db, caller.organizationId, id)
  const policy = await loadPolicy(gateway, caller, workspace)
  assertRegionAllowed(policy, region)
  return { workspace, policy }
}

/** A management key is subject to the workspace's policy. */
async function loadPolicy(
  { db, accounts }: Gateway,
  { key, organizationId }: Caller,
  workspace: Workspace,
): Promise<EffectivePolicy> {
  if (key.kind === 'inference') return (await accounts.findContext(key)).policy
  return computeEffectivePolicy(await loadWorkspaceLayers(db, organizationId, workspace.id))
}
