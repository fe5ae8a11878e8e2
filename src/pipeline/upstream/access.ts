import type { ByokKey } from '../../account/byok-keys.ts'
import type { Gateway } from '../../app/gateway.ts'
import {
  type Credential,
  credentialFormOf,
  type Deployment,
  parseCredential,
  settingsOf,
} from '../../catalogue/credential.ts'
import type { CatalogueProvider, Endpoint, Model } from '../../catalogue/model.ts'
import { originOf, type ProviderSettings, resolveAddress } from '../../catalogue/provider-settings.ts'
import type { DataRegion, DialectName } from '../../catalogue/vocabulary.ts'
import type { Candidate } from '../../routing/candidate.ts'
import type { SigningCredential } from '../../sign-in/all.ts'

/** Where a request goes and what it is paid with. */
export interface UpstreamAccess {
  /** As this credential reaches it: its model may have another name there, and fewer formats. */
  endpoint: Endpoint
  baseUrl: string
  /** Behind the path: `?api-version=...`, or nothing. */
  query: string
  credential: SigningCredential
  settings: ProviderSettings
  /** A user wrote the address: nothing is sent to it unless it is public. */
  isUserNamed: boolean
  /** Why nothing can be sent; null when it can. */
  problem: string | null
}

/** Opens a credential of the caller's own: to be called when the request is about to go out, and not before. */
export function resolveAccess(gateway: Gateway, candidate: Candidate, region: DataRegion): UpstreamAccess {
  const { endpoint, byokKey } = candidate
  const { provider } = endpoint
  if (!byokKey) return sharedAccess(candidate, region)
  if (byokKey.origin !== originOf(provider))
    return unusableAccess(endpoint, 'The credential was entered for another address of the provider.')
  const credential = openCredential(gateway, provider, byokKey)
  if (!credential) return unusableAccess(endpoint, 'The credential cannot be read.')
  const settings = {
    ...defaultSettings(provider),
    ...provider.installation.settings,
    ...settingsOf(credential),
  }
  const resident = settingsForRegion(provider, settings, region)
  if (!resident) return unusableAccess(endpoint, 'The credential is for another region than the request.')
  return accessWithCredential(candidate, { credential, settings: resident }, region)
}

const sharedAccesses = new WeakMap<Endpoint, Map<DataRegion, UpstreamAccess>>()

/** With the installation's own credential: worked out once, because the catalogue never changes. */
function sharedAccess(candidate: Candidate, region: DataRegion): UpstreamAccess {
  const { endpoint } = candidate
  const byRegion = sharedAccesses.get(endpoint) ?? new Map<DataRegion, UpstreamAccess>()
  const known = byRegion.get(region)
  if (known) return known
  const access = accessWithCredential(candidate, endpoint.provider.installation, region)
  sharedAccesses.set(endpoint, byRegion.set(region, access))
  return access
}

function openCredential(
  gateway: Gateway,
  provider: CatalogueProvider,
  { id, sealed }: ByokKey,
): Credential | null {
  try {
    return parseCredential(gateway.vault.open(sealed, `byok/${id}`), credentialFormOf(provider))
  } catch {
    // Whatever is wrong with it, its words may hold a part of it.
    return null
  }
}

function defaultSettings({ settings = {} }: CatalogueProvider): ProviderSettings {
  const known = Object.entries(settings).flatMap(([name, { fallback }]) =>
    fallback === undefined ? [] : [[name, fallback]],
  )
  return Object.fromEntries(known)
}

/** A request that must not leave its region takes no credential out of it. */
function settingsForRegion(
  { dataResidency }: CatalogueProvider,
  settings: ProviderSettings,
  region: DataRegion,
): ProviderSettings | null {
  const rule = dataResidency?.[region]
  if (!rule || rule.regionPattern.test(settings.region ?? '')) return settings
  return rule.fallbackRegion === undefined ? null : { ...settings, region: rule.fallbackRegion }
}

interface ResolvedCredential {
  credential: Credential
  settings: ProviderSettings
}

function accessWithCredential(
  candidate: Candidate,
  held: ResolvedCredential,
  region: DataRegion,
): UpstreamAccess {
  const { endpoint, model, byokKey } = candidate
  const { credential } = held
  if (credential.kind !== 'deployments') return accessTo(endpoint, { ...held, credential }, region)
  const deployment = credential.deployments.find(({ slug }) => isDeploymentOf(slug, model))
  if (deployment) return accessToDeployment(endpoint, deployment, held.settings, byokKey !== null)
  const [resource] = credential.resources
  if (!resource) return unusableAccess(endpoint, 'The credential has no deployment of this model.')
  const settings = { ...held.settings, ...withoutType(resource.settings) }
  return accessTo(endpoint, { credential: { kind: 'token', token: resource.token }, settings }, region)
}

/** The type belongs to the resource: another one's is not inherited. */
function withoutType(settings: ProviderSettings): ProviderSettings {
  return { resource_type: '', ...settings }
}

function isDeploymentOf(slug: string, { id, canonical_slug, aliases }: Model): boolean {
  return slug === id || slug === canonical_slug || aliases.includes(slug)
}

function accessTo(
  endpoint: Endpoint,
  { credential, settings }: { credential: SigningCredential; settings: ProviderSettings },
  region: DataRegion,
): UpstreamAccess {
  const { provider } = endpoint
  const { url, missing } = resolveAddress(provider, settings)
  if (url === null) return unusableAccess(endpoint, `The credential does not say its ${missing}.`)
  const named =
    provider.resolveModelName?.(endpoint.upstream_model, settings, region) ?? endpoint.upstream_model
  const reached = named === endpoint.upstream_model ? endpoint : { ...endpoint, upstream_model: named }
  return {
    endpoint: reached,
    baseUrl: url,
    query: '',
    credential,
    settings,
    isUserNamed: false,
    problem: null,
  }
}

/** How the address of a deployment ends tells its format. */
const deploymentPaths: [string, DialectName][] = [
  ['/chat/completions', 'chat'],
  ['/responses', 'responses'],
]
const defaultDeploymentPath: (typeof deploymentPaths)[number] = ['', 'chat']

function accessToDeployment(
  endpoint: Endpoint,
  { url: text, token, upstreamModel }: Deployment,
  settings: ProviderSettings,
  isUserNamed: boolean,
): UpstreamAccess {
  const url = new URL(text)
  const path = url.pathname.replace(/\/+$/, '')
  const [ending, dialect] = deploymentPaths.find(([end]) => path.endsWith(end)) ?? defaultDeploymentPath
  return {
    endpoint: { ...endpoint, upstream_model: upstreamModel, dialects: [dialect] },
    baseUrl: url.origin + path.slice(0, path.length - ending.length),
    query: url.search,
    credential: { kind: 'token', token },
    settings,
    isUserNamed,
    problem: null,
  }
}

function unusableAccess(endpoint: Endpoint, problem: string): UpstreamAccess {
  const nowhere = { baseUrl: '', query: '', settings: {}, isUserNamed: false }
  return { endpoint, ...nowhere, credential: { kind: 'none' }, problem }
}
