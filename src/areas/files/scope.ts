import { findFile, type StoredFile } from '../../account/stored-files.ts'
import { enterWorkspace, type Workspace } from '../../account/workspaces.ts'
import type { DataRegion } from '../../catalog/vocabulary.ts'
import { badField, fail } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import type { Caller } from '../../pipeline/authenticate.ts'
import { type EffectivePolicy, effectivePolicy } from '../../policy/effective.ts'
import { guardRegion } from '../../policy/guard.ts'
import { loadWorkspaceLayers } from '../../policy/store.ts'
import { removeContent } from './disk.ts'
import { removeFile } from './store.ts'

/** Who asks, and for which workspace and storage. */
export interface Scope {
  gateway: Gateway
  caller: Caller
  region: DataRegion
  query: { workspace_id?: string | undefined; provider?: string | undefined }
}

/** The workspace a request acts in: an inference key's own, for a management key any of its organization. */
export async function enter({ gateway, caller, region, query }: Scope): Promise<Workspace> {
  if (region !== 'global') throw fail('region_refused')
  const { kind, workspace_id: home } = caller.key
  const wanted = query.workspace_id?.toLowerCase()
  if (kind === 'inference' && wanted !== undefined && wanted !== home) {
    throw fail('forbidden', 'workspace_id: this key may not enter that workspace.')
  }
  const id = kind === 'inference' ? home : wanted
  const workspace = await enterWorkspace(gateway.db, caller.organizationId, id)
  guardRegion(await policyOf(gateway, caller, workspace), region)
  // The place for a vendor's own storage: nobody can have given a key for it yet.
  if (query.provider) throw badField('provider', 'no key of your own is configured for this vendor')
  return workspace
}

/** A management key is bound by what holds for everybody in the workspace. */
async function policyOf(
  { db, memory }: Gateway,
  { key, organizationId }: Caller,
  workspace: Workspace,
): Promise<EffectivePolicy> {
  if (key.kind === 'inference') return (await memory.standingOf(key)).policy
  return effectivePolicy(await loadWorkspaceLayers(db, organizationId, workspace.id))
}

export async function requireFile(scope: Scope, id: string): Promise<StoredFile> {
  const workspace = await enter(scope)
  const file = await findFile(scope.gateway.db, workspace.id, id)
  if (!file) throw fileMissing()
  return file
}

/** Removes a file for good. */
export async function dropFile(scope: Scope, id: string): Promise<void> {
  const workspace = await enter(scope)
  if (!(await removeFile(scope.gateway.db, workspace.id, id))) throw fileMissing()
  await removeContent(scope.gateway, id)
}

function fileMissing() {
  return fail('not_found', 'The file does not exist.')
}
