import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { Environment } from '../config.ts'
import {
  type Credential,
  CredentialError,
  credentialFormOf,
  noCredential,
  parseCredential,
  parseCredentialObject,
  settingsOf,
} from './credential.ts'
import type { DeclaredProvider } from './declared.ts'
import type { CatalogProvider, ProviderInstallation } from './model.ts'
import type { Provider } from './provider.ts'
import { readSettings, resolveAddress, type SettingName } from './provider-settings.ts'

/** The latest of each provider. */
const installedProviders = new WeakMap<Provider, CatalogProvider>()

/**
 * A provider with its credential and settings from headgate.yaml and the environment. The same object as before if
 * nothing has changed, so that its endpoints need not be compiled again.
 */
export function installProvider(
  provider: Provider,
  declared: DeclaredProvider | undefined,
  environment: Environment,
): CatalogProvider {
  const installation = resolveInstallation(provider, declared, environment)
  const known = installedProviders.get(provider)
  if (known && isDeepStrictEqual(known.installation, installation)) return known
  const installed = { ...provider, installation, enabled: isComplete(provider, installation) }
  installedProviders.set(provider, installed)
  return installed
}

function resolveInstallation(
  provider: Provider,
  declared: DeclaredProvider | undefined,
  environment: Environment,
): ProviderInstallation {
  const environmentSettings = readSettings(provider.settings, environment)
  const declaredCredential = readDeclaredCredential(provider, declared)
  const { credential, problem } = declaredCredential
    ? { credential: declaredCredential, problem: null }
    : readEnvironmentCredential(provider, environment)
  const credentialSettings = { ...settingsOf(credential), ...resourceSettingsOf(credential) }
  // headgate.yaml overrides the environment.
  const settings = declaredCredential
    ? { ...environmentSettings, ...credentialSettings }
    : { ...credentialSettings, ...environmentSettings }
  const all = { ...settings, ...declared?.settings }
  const { url: address, missing } = resolveAddress(provider, all)
  const isIncomplete = missing !== null && credential.kind !== 'none' && !hasDeployments(credential)
  return {
    credential,
    settings: all,
    address,
    problem: isIncomplete ? formatMissingSetting(provider, missing) : problem,
  }
}

/** Deployments have their own addresses. */
function hasDeployments(credential: Credential): boolean {
  return credential.kind === 'deployments' && credential.deployments.length > 0
}

function formatMissingSetting({ settings = {} }: Provider, missing: SettingName): string {
  const sources = [...(settings[missing]?.variables ?? []), `settings.${missing} in headgate.yaml`]
  return `${missing}: is required too; set ${sources.join(' or ')}`
}

function resourceSettingsOf(credential: Credential) {
  return credential.kind === 'deployments' ? credential.resources[0]?.settings : undefined
}

/** Already validated when the file was loaded. */
function readDeclaredCredential(
  provider: Provider,
  declared: DeclaredProvider | undefined,
): Credential | null {
  if (declared?.api_key !== undefined) return { kind: 'token', token: declared.api_key }
  const form = credentialFormOf(provider)
  if (declared?.credentials === undefined || !form) return null
  return parseCredentialObject(declared.credentials, form)
}

/** An unusable variable is not an error: it may be set for other programs. */
function readEnvironmentCredential(
  provider: Provider,
  environment: Environment,
): { credential: Credential; problem: string | null } {
  const { keyVariable, keyFile } = provider
  const text = keyVariable ? environment[keyVariable]?.trim() : undefined
  if (!text) return { credential: noCredential, problem: null }
  try {
    const content = keyFile && !text.startsWith('{') ? readFileSync(text, 'utf8').trim() : text
    return { credential: parseCredential(content, credentialFormOf(provider)), problem: null }
  } catch (error) {
    const problem =
      error instanceof CredentialError
        ? [...error.path, error.message].join(' ')
        : 'names a file that cannot be read'
    return { credential: noCredential, problem: `${keyVariable}: ${problem}` }
  }
}

function isComplete({ keyVariable }: Provider, { credential, address }: ProviderInstallation): boolean {
  if (keyVariable !== null && credential.kind === 'none') return false
  return address !== null || hasDeployments(credential)
}
