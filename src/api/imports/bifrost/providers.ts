import type { SkippedItem } from '../import-plan.ts'
import { trimBase } from '../models/base-address.ts'
import type { Deployment, DeploymentContext } from '../models/deployment.ts'
import { findVendor, type Vendor } from '../models/vendors.ts'
import type { Variables } from '../source.ts'
import type { Configuration, Provider, ProviderKey } from './rows.ts'
import { providerNames, versioned } from './vendors.ts'

export interface ReadProviders {
  deployments: Deployment[]
  skipped: SkippedItem[]
}

/** Clients name models with the provider there, such as `openai/gpt-4o`. */
export function readProviders(
  { providers }: Configuration,
  context: DeploymentContext,
  variables: Variables,
): ReadProviders {
  const read: ReadProviders = { deployments: [], skipped: [] }
  for (const [name, provider] of Object.entries(providers)) {
    const skip = (reason: string) => read.skipped.push({ kind: 'provider', name, reason })
    const type = provider.custom_provider_config?.base_provider_type
    const vendor = findVendor(providerNames[type ?? name] ?? type ?? name, context.accounts.isBuiltIn)
    if (!vendor) {
      skip('there is no such provider here')
      continue
    }
    const own = type ? { ...vendor, prefix: name } : vendor
    for (const [index, key] of (provider.keys ?? []).entries()) {
      const keyName = `${name} ${key.name || `key ${index + 1}`}`
      const problem = readKey(read, { name, provider, key, vendor: own }, context, variables)
      if (problem) read.skipped.push({ kind: 'credential', name: keyName, reason: problem })
      else if (key.weight != null && key.weight !== 1)
        read.skipped.push({
          kind: 'setting',
          name: `${keyName} weight`,
          reason:
            'weights divide requests among models, as `targets` of a model alias: docs/model-aliases.md',
        })
    }
  }
  return read
}

interface NamedKey {
  name: string
  provider: Provider
  key: ProviderKey
  vendor: Vendor
}

/** Returns why a key is not imported. */
function readKey(
  read: ReadProviders,
  { name, provider, key, vendor }: NamedKey,
  context: DeploymentContext,
  variables: Variables,
): string | null {
  if (key.enabled === false) return 'is disabled there'
  if (key.encryption_status === 'encrypted')
    return 'is encrypted in the store: write the provider into a config.json, or add its key here'
  const secret = resolveSecret(key.value, variables)
  const base = resolveSecret(
    key.azure_key_config?.endpoint ||
      key.ollama_key_config?.url ||
      key.vllm_key_config?.url ||
      key.sgl_key_config?.url ||
      provider.network_config?.base_url,
    variables,
  )
  for (const found of [secret, base])
    if (found && 'missing' in found) return `not set: ${found.missing}; give --env`
  const [apiKey, apiBase] = [secret, base].map((found) =>
    found && 'value' in found ? found.value : undefined,
  )
  const { default_request_timeout_in_seconds: timeout, max_retries: maxRetries } =
    provider.network_config ?? {}
  const account = {
    vendor,
    apiKey,
    apiBase: apiBase === undefined ? undefined : completeBase(vendor, apiBase),
  }
  const models = (key.models ?? []).filter((model) => model !== '*')
  if (models.length === 0) {
    const found = context.accounts.find(account)
    if ('problem' in found) return found.problem
    context.accounts.addWildcard(found.slug, `${name}/*`)
  }
  for (const model of models)
    read.deployments.push({
      name: model.startsWith(`${name}/`) ? model : `${name}/${model}`,
      ...account,
      upstreamModel: model,
      settings: { timeout: timeout || undefined, maxRetries: maxRetries || undefined },
      pricing: undefined,
      info: {},
    })
  return null
}

/** The address there ends before the version. */
function completeBase({ slug, toBaseUrl }: Vendor, base: string): string {
  if (toBaseUrl) return base
  const trimmed = trimBase(base)
  return slug === null || versioned.has(slug) ? `${trimmed.replace(/\/v1$/, '')}/v1` : trimmed
}

/** A secret may be the name of a variable; undefined if there is none. */
export function resolveSecret(
  text: string | null | undefined,
  variables: Variables,
): { value: string } | { missing: string } | undefined {
  if (!text) return undefined
  if (text.startsWith('vault.')) return { missing: text }
  if (!text.startsWith('env.')) return { value: text }
  const name = text.slice('env.'.length)
  const value = variables[name]
  return value === undefined ? { missing: name } : { value }
}
