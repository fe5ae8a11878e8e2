import type { ByokKey } from '../../catalog/byok-keys.ts'
import {
  type Credential,
  credentialFormOf,
  type Deployment,
  parseCredential,
  settingsOf,
} from '../../catalog/credential.ts'
import type { CatalogProvider, Endpoint, Model } from '../../catalog/model.ts'
import type { SigningCredential } from '../../catalog/provider-auth/all.ts'
import { originOf, type ProviderSettings, resolveAddress } from '../../catalog/provider-settings.ts'
import type { DataRegion, WireFormatName } from '../../formats/vocabulary.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Candidate } from '../routing/candidate.ts'

/** The address of a provider and the credential for it. */
export interface ProviderAccess {
  provider: CatalogProvider
  baseUrl: string
  /** Appended to the path: `?api-version=...`, or empty. */
  query: string
  credential: SigningCredential
  settings: ProviderSettings
  /** Whether a user supplied the address, so that it must be public. */
  isUserNamed: boolean
  /** The reason why the provider cannot be used; null if it can. */
  problem: string | null
}

/** The access of a request to a model. */
export interface UpstreamAccess extends ProviderAccess {
  /** The endpoint with this credential: the model may have another name and fewer wire formats. */
  endpoint: Endpoint
}

/** Resolves the access of a candidate. Decrypts a BYOK key, so it is called right before the request is sent. */
export function resolveAccess(gateway: Gateway, candidate: Candidate, region: DataRegion): UpstreamAccess {
  const { endpoint, byokKey } = candidate
  if (!byokKey) return sharedAccesses.get(endpoint)?.get(region) ?? resolveSharedAccess(candidate, region)
  const opened = openByokKey(gateway, endpoint.provider, byokKey, region)
  if (typeof opened === 'string') return createUnusableAccess(endpoint, opened)
  return resolveWithCredential(candidate, opened, region)
}

export interface FirstAccess {
  found: { candidate: Candidate; access: UpstreamAccess } | null
  /** The reason why the first candidate cannot be used; null if there are none. */
  problem: string | null
}

/** The first candidate that can be used, of some with the same provider and BYOK key, which is decrypted once. */
export function resolveFirstAccess(
  gateway: Gateway,
  candidates: readonly Candidate[],
  region: DataRegion,
): FirstAccess {
  const { byokKey, endpoint } = candidates[0] ?? {}
  const opened = byokKey && endpoint ? openByokKey(gateway, endpoint.provider, byokKey, region) : null
  if (typeof opened === 'string') return { found: null, problem: opened }
  let problem: string | null = null
  for (const candidate of candidates) {
    const access = opened
      ? resolveWithCredential(candidate, opened, region)
      : resolveSharedAccess(candidate, region)
    if (access.problem === null) return { found: { candidate, access }, problem: null }
    problem ??= access.problem
  }
  return { found: null, problem }
}

/** Resolves the access of a request that is not about a model. Decrypts the key too. */
export function resolveByokAccess(
  gateway: Gateway,
  provider: CatalogProvider,
  byokKey: ByokKey,
  region: DataRegion,
): ProviderAccess {
  const opened = openByokKey(gateway, provider, byokKey, region)
  if (typeof opened === 'string') return { ...noAccess, provider, problem: opened }
  const { credential, settings } = opened
  if (credential.kind === 'deployments')
    return { ...noAccess, provider, problem: 'The credential is for deployments of models only.' }
  return addressProvider(provider, { credential, settings })
}

/** Resolves the access of a request that is not about a model, with the installation's credential. */
export function resolveInstallationAccess(provider: CatalogProvider): ProviderAccess {
  const { credential, settings } = provider.installation
  if (credential.kind === 'deployments')
    return { ...noAccess, provider, problem: 'The credential is for deployments of models only.' }
  return addressProvider(provider, { credential, settings })
}

/** The credential and its settings, or why it cannot be used. */
function openByokKey(
  gateway: Gateway,
  provider: CatalogProvider,
  byokKey: ByokKey,
  region: DataRegion,
): ResolvedCredential | string {
  if (byokKey.origin !== originOf(provider))
    return 'The credential was created for another address of the provider; enter it again.'
  const credential = openCredential(gateway, provider, byokKey)
  if (!credential) return 'The credential cannot be read.'
  const settings = {
    ...collectDefaultSettings(provider),
    ...provider.installation.settings,
    ...settingsOf(credential),
  }
  const regional = resolveRegionSettings(provider, settings, region)
  return regional
    ? { credential, settings: regional }
    : 'The credential is for another region than the request.'
}

const sharedAccesses = new WeakMap<Endpoint, Map<DataRegion, UpstreamAccess>>()

/** Resolves the access with the installation's credential. Cached, because a catalog is immutable. */
function resolveSharedAccess(candidate: Candidate, region: DataRegion): UpstreamAccess {
  const { endpoint } = candidate
  const byRegion = sharedAccesses.get(endpoint) ?? new Map<DataRegion, UpstreamAccess>()
  const access = resolveWithCredential(candidate, endpoint.provider.installation, region)
  sharedAccesses.set(endpoint, byRegion.set(region, access))
  return access
}

function openCredential(
  gateway: Gateway,
  provider: CatalogProvider,
  { id, encrypted }: ByokKey,
): Credential | null {
  gateway.audit.secretUses.add('byok_key', id)
  try {
    return parseCredential(gateway.vault.decrypt(encrypted, `byok/${id}`), credentialFormOf(provider))
  } catch {
    // The message of the error may contain part of the credential.
    return null
  }
}

function collectDefaultSettings({ settings = {} }: CatalogProvider): ProviderSettings {
  const defaults = Object.entries(settings).flatMap(([name, { fallback }]) =>
    fallback === undefined ? [] : [[name, fallback]],
  )
  return Object.fromEntries(defaults)
}

/** Resolves settings for a region; null if the request must stay in it and the credential is for another one. */
function resolveRegionSettings(
  { dataResidency }: CatalogProvider,
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

function resolveWithCredential(
  candidate: Candidate,
  resolved: ResolvedCredential,
  region: DataRegion,
): UpstreamAccess {
  const { endpoint, model, byokKey } = candidate
  const { credential } = resolved
  if (credential.kind !== 'deployments') return buildAccess(endpoint, { ...resolved, credential }, region)
  const deployment = credential.deployments.find(({ slug }) => isDeploymentOf(slug, model))
  if (deployment) return buildDeploymentAccess(endpoint, deployment, resolved.settings, byokKey !== null)
  const [resource] = credential.resources
  if (!resource) return createUnusableAccess(endpoint, 'The credential has no deployment of this model.')
  const settings = { ...resolved.settings, ...withoutInheritedType(resource.settings) }
  return buildAccess(endpoint, { credential: { kind: 'token', token: resource.token }, settings }, region)
}

/** Each resource has its own type; it is not inherited from another resource. */
function withoutInheritedType(settings: ProviderSettings): ProviderSettings {
  return { resource_type: '', ...settings }
}

function isDeploymentOf(slug: string, { id, canonical_slug, aliases }: Model): boolean {
  return slug === id || slug === canonical_slug || aliases.includes(slug)
}

interface SigningAccess {
  credential: SigningCredential
  settings: ProviderSettings
}

function buildAccess(endpoint: Endpoint, signing: SigningAccess, region: DataRegion): UpstreamAccess {
  const { provider } = endpoint
  const upstreamModel =
    provider.resolveModelName?.(endpoint.upstream_model, signing.settings, region) ?? endpoint.upstream_model
  const reached =
    upstreamModel === endpoint.upstream_model ? endpoint : { ...endpoint, upstream_model: upstreamModel }
  return { endpoint: reached, ...addressProvider(provider, signing) }
}

function addressProvider(provider: CatalogProvider, { credential, settings }: SigningAccess): ProviderAccess {
  const { url, missing } = resolveAddress(provider, settings)
  if (url === null) return { ...noAccess, provider, problem: `The credential has no ${missing}.` }
  return { provider, baseUrl: url, query: '', credential, settings, isUserNamed: false, problem: null }
}

/** The end of a deployment's path gives its wire format. */
const deploymentPaths: [string, WireFormatName][] = [
  ['/chat/completions', 'chat'],
  ['/responses', 'responses'],
  ['/embeddings', 'embeddings'],
  ['/images/generations', 'images'],
  ['/audio/speech', 'speech'],
  ['/audio/transcriptions', 'transcriptions'],
]
const defaultDeploymentPath: (typeof deploymentPaths)[number] = ['', 'chat']

function buildDeploymentAccess(
  endpoint: Endpoint,
  { url: address, token, upstreamModel }: Deployment,
  settings: ProviderSettings,
  isUserNamed: boolean,
): UpstreamAccess {
  const url = new URL(address)
  const path = url.pathname.replace(/\/+$/, '')
  const [ending, wireFormat] = deploymentPaths.find(([end]) => path.endsWith(end)) ?? defaultDeploymentPath
  return {
    endpoint: { ...endpoint, upstream_model: upstreamModel, wireFormats: [wireFormat] },
    provider: endpoint.provider,
    baseUrl: url.origin + path.slice(0, path.length - ending.length),
    query: url.search,
    credential: { kind: 'token', token },
    settings,
    isUserNamed,
    problem: null,
  }
}

function createUnusableAccess(endpoint: Endpoint, problem: string): UpstreamAccess {
  return { ...noAccess, endpoint, provider: endpoint.provider, problem }
}

const noAccess = {
  baseUrl: '',
  query: '',
  credential: { kind: 'none' as const },
  settings: {},
  isUserNamed: false,
}
