import type { Caller } from '../../../access/caller.ts'
import { authorizeStorage, findWorkspaceContext } from '../../../access/workspace-access.ts'
import { type ByokKey, listByokKeys } from '../../../catalog/byok-keys.ts'
import type { CatalogProvider } from '../../../catalog/model.ts'
import { fileFormats } from '../../../formats/files/all.ts'
import type { FileFormat } from '../../../formats/files/file-format.ts'
import { loadAllowedPhrases } from '../../../gateway/account-cache.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { HitOwner } from '../../../governance/guardrail-hits.ts'
import { buildContentRules, type ContentRules } from '../../../governance/policy/content-rules.ts'
import type { EffectivePolicy } from '../../../governance/policy/effective.ts'
import { findProviderBlock } from '../../../governance/policy/guard.ts'
import type { Workspace } from '../../../identity/workspaces.ts'
import { newGenerationId } from '../../../inference/request/parse.ts'
import { type ProviderAccess, resolveByokAccess } from '../../../inference/upstream/access.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import type { FileContext } from './context.ts'

/** The file storage of a vendor, with the caller's key for it. */
export interface VendorStore {
  gateway: Gateway
  format: FileFormat
  access: ProviderAccess
  /** Ends when the client disconnects. */
  signal: AbortSignal
  /** Rules of the policy for the content of files. */
  contentRules: ContentRules | null
  hitOwner: HitOwner
}

/** Null if the request is about the storage of this server. */
export async function openVendorStore(context: FileContext): Promise<VendorStore | null> {
  const { gateway, caller, region, query, httpRequest } = context
  if (query.provider === undefined) return null
  const { workspace, policy } = await authorizeStorage(context)
  const found = findKey(gateway, query.provider, await loadKeys(gateway, caller, workspace))
  if (!found) throw invalidFieldError('provider', 'no BYOK key is configured for this vendor')
  const { provider, format, byokKey } = found
  assertProviderAllowed(policy, provider)
  const access = resolveByokAccess(gateway, provider, byokKey, region)
  if (access.problem !== null)
    throw invalidFieldError('provider', `the BYOK key is unusable. ${access.problem}`)
  return {
    gateway,
    format,
    access,
    signal: httpRequest.signal,
    contentRules: await findContentRules(gateway, caller, workspace, policy),
    hitOwner: describeOwner(gateway, caller, workspace),
  }
}

async function findContentRules(
  gateway: Gateway,
  caller: Caller,
  workspace: Workspace,
  policy: EffectivePolicy,
): Promise<ContentRules | null> {
  const context = await findWorkspaceContext(gateway, caller, workspace)
  if (context) return context.contentRules
  return buildContentRules(policy, await loadAllowedPhrases(gateway.db, caller.key, policy))
}

function describeOwner(
  { clock }: Gateway,
  { organizationId, userId, key }: Caller,
  workspace: Workspace,
): HitOwner {
  return {
    generationId: newGenerationId(),
    organizationId,
    workspaceId: workspace.id,
    keyId: key.id,
    userId,
    createdAt: isoNow(clock),
  }
}

async function loadKeys(gateway: Gateway, caller: Caller, workspace: Workspace) {
  const context = await findWorkspaceContext(gateway, caller, workspace)
  return context?.byokKeys ?? listByokKeys(gateway.db, { ...caller.key, workspace_id: workspace.id })
}

interface UsableKey {
  provider: CatalogProvider
  format: FileFormat
  byokKey: ByokKey
}

/**
 * The first key in the order of routing, always the same one: each may be of another account, with other files. A key
 * for certain models is for these only. `name` is a vendor or the slug of a provider.
 */
function findKey({ catalog }: Gateway, name: string, byokKeys: readonly ByokKey[]): UsableKey | undefined {
  const usable = byokKeys.flatMap((byokKey) => {
    const provider = catalog.providers.find(({ slug }) => slug === byokKey.provider)
    const isNamed = provider && (provider.slug === name || provider.vendor === name)
    if (!isNamed || !provider.fileFormat || byokKey.allowedModels !== null) return []
    return [{ provider, format: fileFormats[provider.fileFormat], byokKey }]
  })
  return usable.find(({ byokKey }) => !byokKey.isFallback) ?? usable[0]
}

/** A vendor retains the files it stores, whatever its promise about prompts is. */
function assertProviderAllowed(policy: EffectivePolicy, provider: CatalogProvider): void {
  const isZdrEnforced = provider.vendor !== undefined && policy.enforce_zdr[provider.vendor].value
  const field = findProviderBlock(policy, { provider }) ?? (isZdrEnforced ? 'enforce_zdr' : undefined)
  if (field === undefined) return
  throw gatewayError('guardrail_blocked', `A guardrail (${field}) does not allow files at ${provider.name}.`)
}
