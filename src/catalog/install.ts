import { readFileSync } from 'node:fs'
import type { Environment } from '../config.ts'
import {
  type Credential,
  CredentialError,
  credentialFrom,
  noCredential,
  readCredential,
  settingsIn,
} from './credential.ts'
import type { DeclaredProvider } from './declared.ts'
import type { CatalogProvider, Installed } from './model.ts'
import type { Provider } from './provider.ts'
import { addressOf, type SettingName, settingsFrom } from './provider-settings.ts'

/** A provider with what headgate.yaml and the environment have for it. */
export function install(
  provider: Provider,
  declared: DeclaredProvider | undefined,
  environment: Environment,
): CatalogProvider {
  const installed = installedFor(provider, declared, environment)
  return { ...provider, installed, enabled: isComplete(provider, installed) }
}

function installedFor(
  provider: Provider,
  declared: DeclaredProvider | undefined,
  environment: Environment,
): Installed {
  const around = settingsFrom(provider.settings, environment)
  const written = declaredCredential(provider, declared)
  const { credential, problem } = written
    ? { credential: written, problem: null }
    : fromEnvironment(provider, environment)
  const inside = { ...settingsIn(credential), ...firstResource(credential) }
  // What the file says goes before what the machine happens to have.
  const settings = written ? { ...around, ...inside } : { ...inside, ...around }
  const all = { ...settings, ...declared?.settings }
  const { url: address, missing } = addressOf(provider, all)
  const isStuck = missing !== null && credential.kind !== 'none' && !hasDeployments(credential)
  return { credential, settings: all, address, problem: isStuck ? notSaid(provider, missing) : problem }
}

/** They have addresses of their own. */
function hasDeployments(credential: Credential): boolean {
  return credential.kind === 'deployments' && credential.deployments.length > 0
}

function notSaid({ settings = {} }: Provider, missing: SettingName): string {
  const places = [...(settings[missing]?.variables ?? []), `settings.${missing} in headgate.yaml`]
  return `${missing}: is needed too (${places.join(', ')})`
}

function firstResource(credential: Credential) {
  return credential.kind === 'deployments' ? credential.resources[0]?.settings : undefined
}

/** Checked when the file was read. */
function declaredCredential(
  { credentialForm }: Provider,
  declared: DeclaredProvider | undefined,
): Credential | null {
  if (declared?.api_key !== undefined) return { kind: 'token', token: declared.api_key }
  if (declared?.credentials === undefined || !credentialForm) return null
  return credentialFrom(declared.credentials, credentialForm)
}

/** A variable that is of no use is not an error: it may be there for other programs. */
function fromEnvironment(
  { keyVariable, keyFile, credentialForm }: Provider,
  environment: Environment,
): { credential: Credential; problem: string | null } {
  const text = keyVariable ? environment[keyVariable]?.trim() : undefined
  if (!text) return { credential: noCredential, problem: null }
  try {
    const found = keyFile && !text.startsWith('{') ? readFileSync(text, 'utf8').trim() : text
    return { credential: readCredential(found, credentialForm), problem: null }
  } catch (error) {
    const problem =
      error instanceof CredentialError
        ? [...error.path, error.message].join(' ')
        : 'names a file that cannot be read'
    return { credential: noCredential, problem: `${keyVariable}: ${problem}` }
  }
}

function isComplete({ keyVariable }: Provider, { credential, address }: Installed): boolean {
  if (keyVariable !== null && credential.kind === 'none') return false
  return address !== null || hasDeployments(credential)
}
