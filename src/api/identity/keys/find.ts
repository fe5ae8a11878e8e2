import { z } from 'zod'
import type { Caller } from '../../../access/caller.ts'
import { type DataRegion, dataRegions } from '../../../formats/vocabulary.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { type KeyLimitUse, listKeyLimits } from '../../../governance/limits/key-limits.ts'
import { computeEffectivePolicy } from '../../../governance/policy/effective.ts'
import { loadLayers } from '../../../governance/policy/store.ts'
import { type ApiKey, findKey } from '../../../identity/keys.ts'
import { assertWithinScope, type Scope } from '../../../identity/permissions/grant.ts'
import { type KeyUsage, loadKeyUsage, zeroUsage } from '../../../ledger/usage.ts'
import type { Db } from '../../../platform/db/db.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'

export const hashParam = z.object({
  hash: z.string().min(1).describe("The key's hash (SHA-256, in hex)."),
})

/** Management keys belong to the whole organization. The keys of sessions are not managed. */
export async function requireKey(db: Db, caller: Caller, scope: Scope, hash: string): Promise<ApiKey> {
  const key = await findKey(db, caller.organizationId, hash)
  if (!key || key.source === 'session') throw keyNotFoundError()
  const workspaceId = key.kind === 'management' ? null : key.workspace_id
  assertWithinScope(scope, { workspaceId, ownerId: key.creator_user_id })
  return key
}

export async function requireChangeableKey(
  db: Db,
  caller: Caller,
  scope: Scope,
  hash: string,
): Promise<ApiKey> {
  const key = await requireKey(db, caller, scope, hash)
  if (key.kind === 'management')
    throw gatewayError('forbidden', 'This is a management key: use /management-keys/{hash}.')
  return key
}

export function describeKey({ hash, name, workspace_id }: ApiKey) {
  return { target: { type: 'key', id: hash, name }, workspaceId: workspace_id }
}

export function keyNotFoundError() {
  return gatewayError('not_found', 'The key does not exist.')
}

export async function loadUsage(gateway: Gateway, key: ApiKey): Promise<KeyUsage> {
  return (await loadKeyUsage(gateway.db, [key.id], gateway.clock.now())).get(key.id) ?? zeroUsage
}

/** Management keys send no requests to models. */
export async function loadKeyLimits(gateway: Gateway, key: ApiKey): Promise<KeyLimitUse[]> {
  if (key.kind !== 'inference') return []
  return listKeyLimits(gateway, key, await gateway.accounts.findContext(key), gateway.clock.now())
}

export async function resolveAllowedRegions(gateway: Gateway, key: ApiKey): Promise<DataRegion[]> {
  const { values } = computeEffectivePolicy(await loadLayers(gateway.db, key)).allowed_data_regions
  return dataRegions.filter((region) => values?.includes(region) ?? true)
}
