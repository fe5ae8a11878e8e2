import { findFile, type StoredFile } from '../../account/stored-files.ts'
import { resolveWorkspace, type Workspace } from '../../account/workspaces.ts'
import type { Gateway } from '../../app/gateway.ts'
import type { DataRegion } from '../../catalogue/vocabulary.ts'
import { gatewayError, invalidFieldError } from '../../errors/gateway-error.ts'
import type { Caller } from '../../pipeline/request/authenticate.ts'
import { computeEffectivePolicy, type EffectivePolicy } from '../../policy/effective.ts'
import { assertRegionAllowed } from '../../policy/guard.ts'
import { loadWorkspaceLayers } from '../../policy/store.ts'
import { removeContent } from './content.ts'
import { removeFile } from './store.ts'

/** The caller of a file operation, and the requested workspace and storage. */
export interface FileContext {
  gateway: Gateway
  caller: Caller
  region: DataRegion
  query: { workspace_id?: string | undefined; provider?: string | undefined }
}

/** The workspace of a request, and the policy that applies there. */
export interface AuthorizedWorkspace {
  workspace: Workspace
  policy: EffectivePolicy
}

/** An inference key's own workspace; for a management key, any of its organization. */
export async function authorize({
  gateway,
  caller,
  region,
  query,
}: FileContext): Promise<AuthorizedWorkspace> {
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

/** The workspace whose files on this server a request is about. */
export async function authorizeWorkspace(context: FileContext): Promise<Workspace> {
  // In the other formats such a request is about the vendor's storage.
  if (context.query.provider !== undefined)
    throw invalidFieldError('provider', 'is not supported in the Gemini format')
  const { workspace } = await authorize(context)
  return workspace
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

export async function requireFile(context: FileContext, id: string): Promise<StoredFile> {
  const workspace = await authorizeWorkspace(context)
  const file = await findFile(context.gateway.db, workspace.id, id)
  if (!file) throw fileNotFoundError()
  return file
}

export async function deleteStoredFile(context: FileContext, id: string): Promise<void> {
  const workspace = await authorizeWorkspace(context)
  const file = await removeFile(context.gateway.db, workspace.id, id)
  if (!file) throw fileNotFoundError()
  await removeContent(context.gateway, file)
}

export function fileNotFoundError() {
  return gatewayError('not_found', 'The file does not exist.')
}
