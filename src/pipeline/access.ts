import type { OwnKey } from '../account/own-keys.ts'
import {
  type Credential,
  type Deployment,
  readCredential,
  type Signing,
  settingsIn,
} from '../catalog/credential.ts'
import type { CatalogProvider, Endpoint, Model } from '../catalog/model.ts'
import { addressOf, originOf, type ProviderSettings } from '../catalog/provider-settings.ts'
import type { DataRegion, DialectName } from '../catalog/vocabulary.ts'
import type { Gateway } from '../gateway.ts'
import type { Candidate } from '../routing/candidate.ts'

/** Where a request goes and what it is paid with. */
export interface Access {
  /** As this credential reaches it: its model may have another name there, and fewer formats. */
  endpoint: Endpoint
  baseUrl: string
  /** Behind the path: `?api-version=...`, or nothing. */
  query: string
  credential: Signing
  settings: ProviderSettings
  /** A user wrote the address: nothing is sent to it unless it is public. */
  isUserNamed: boolean
  /** Why nothing can be sent; null when it can. */
  problem: string | null
}

/** Opens a credential of the caller's own: to be called when the request is about to go out, and not before. */
export function accessOf(gateway: Gateway, candidate: Candidate, region: DataRegion): Access {
  const { endpoint, ownKey } = candidate
  const { provider } = endpoint
  if (!ownKey) return sharedAccess(candidate, region)
  if (ownKey.origin !== originOf(provider))
    return unusable(endpoint, 'The credential was entered for another address of the provider.')
  const credential = opened(gateway, provider, ownKey)
  if (!credential) return unusable(endpoint, 'The credential cannot be read.')
  const settings = { ...fallbacksOf(provider), ...provider.installed.settings, ...settingsIn(credential) }
  const resident = residentIn(provider, settings, region)
  if (!resident) return unusable(endpoint, 'The credential is for another region than the request.')
  return accessWith(candidate, { credential, settings: resident }, region)
}

const shared = new WeakMap<Endpoint, Map<DataRegion, Access>>()

/** With the installation's own credential: worked out once, because the catalogue never changes. */
function sharedAccess(candidate: Candidate, region: DataRegion): Access {
  const { endpoint } = candidate
  const byRegion = shared.get(endpoint) ?? new Map<DataRegion, Access>()
  const known = byRegion.get(region)
  if (known) return known
  const access = accessWith(candidate, endpoint.provider.installed, region)
  shared.set(endpoint, byRegion.set(region, access))
  return access
}

function opened(gateway: Gateway, provider: CatalogProvider, { id, sealed }: OwnKey): Credential | null {
  try {
    return readCredential(gateway.vault.open(sealed, `byok/${id}`), provider.credentialForm)
  } catch {
    // Whatever is wrong with it, its words may hold a part of it.
    return null
  }
}

function fallbacksOf({ settings = {} }: CatalogProvider): ProviderSettings {
  const known = Object.entries(settings).flatMap(([name, { otherwise }]) =>
    otherwise === undefined ? [] : [[name, otherwise]],
  )
  return Object.fromEntries(known)
}

/** A request that must not leave its region takes no credential out of it. */
function residentIn(
  { residence }: CatalogProvider,
  settings: ProviderSettings,
  region: DataRegion,
): ProviderSettings | null {
  const rule = residence?.[region]
  if (!rule || rule.inside.test(settings.region ?? '')) return settings
  return rule.instead === undefined ? null : { ...settings, region: rule.instead }
}

interface Held {
  credential: Credential
  settings: ProviderSettings
}

function accessWith(candidate: Candidate, held: Held, region: DataRegion): Access {
  const { endpoint, model, ownKey } = candidate
  const { credential } = held
  if (credential.kind !== 'deployments') return accessTo(endpoint, { ...held, credential }, region)
  const deployment = credential.deployments.find(({ slug }) => isFor(slug, model))
  if (deployment) return accessToDeployment(endpoint, deployment, held.settings, ownKey !== null)
  const [resource] = credential.resources
  if (!resource) return unusable(endpoint, 'The credential has no deployment of this model.')
  const settings = { ...held.settings, ...withoutType(resource.settings) }
  return accessTo(endpoint, { credential: { kind: 'token', token: resource.token }, settings }, region)
}

/** The type belongs to the resource: another one's is not inherited. */
function withoutType(settings: ProviderSettings): ProviderSettings {
  return { resource_type: '', ...settings }
}

function isFor(slug: string, { id, canonical_slug, aliases }: Model): boolean {
  return slug === id || slug === canonical_slug || aliases.includes(slug)
}

function accessTo(
  endpoint: Endpoint,
  { credential, settings }: { credential: Signing; settings: ProviderSettings },
  region: DataRegion,
): Access {
  const { provider } = endpoint
  const { url, missing } = addressOf(provider, settings)
  if (url === null) return unusable(endpoint, `The credential does not say its ${missing}.`)
  const named = provider.modelName?.(endpoint.upstream_model, settings, region) ?? endpoint.upstream_model
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
const endings: [string, DialectName][] = [
  ['/chat/completions', 'chat'],
  ['/responses', 'responses'],
]
const otherwise: (typeof endings)[number] = ['', 'chat']

function accessToDeployment(
  endpoint: Endpoint,
  { url: text, token, upstreamModel }: Deployment,
  settings: ProviderSettings,
  isUserNamed: boolean,
): Access {
  const url = new URL(text)
  const path = url.pathname.replace(/\/+$/, '')
  const [ending, dialect] = endings.find(([end]) => path.endsWith(end)) ?? otherwise
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

function unusable(endpoint: Endpoint, problem: string): Access {
  const nowhere = { baseUrl: '', query: '', settings: {}, isUserNamed: false }
  return { endpoint, ...nowhere, credential: { kind: 'none' }, problem }
}
