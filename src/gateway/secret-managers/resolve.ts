import {
  type Config,
  ConfigError,
  type Environment,
  readConfig,
  readVariables,
  withSecretFiles,
} from '../../config.ts'
import { tryParseJson } from '../../platform/json/json.ts'
import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { awsSecretsManager } from './aws.ts'
import { googleSecretManager } from './google.ts'
import { SecretError, type SecretManager } from './secret-manager.ts'
import { vault } from './vault.ts'

const managers: readonly SecretManager[] = [vault, awsSecretsManager, googleSecretManager]

/** `<prefix>:<path>#<field>`. */
const referencePattern = new RegExp(
  `^(${managers.map(({ prefix }) => prefix).join('|')}):([^\\s#]+)(?:#(\\S+))?$`,
)

interface Reference {
  /** The variable. */
  name: string
  manager: SecretManager
  path: string
  field: string | undefined
}

/** The configuration of this process, with secrets from files and secret managers. */
export async function loadConfig(variables: Environment = readVariables()): Promise<Config> {
  return readConfig(await resolveReferences(variables), variables)
}

/** The variables of this process, with secrets of secret managers; for commands that need no configuration. */
export async function loadEnvironment(): Promise<Environment> {
  return resolveReferences(readVariables())
}

/** Reads the secrets again that files and secret managers have. */
export async function reloadEnvironment({ variables }: Config): Promise<Environment> {
  return withSecretFiles(await resolveReferences(variables))
}

/** Replaces every value that refers to a secret manager. Each secret is requested once. */
async function resolveReferences(variables: Environment): Promise<Environment> {
  const references = Object.entries(variables).flatMap(([name, value]) => parseReference(name, value))
  if (references.length === 0) return variables
  const environment = withSecretFiles(variables)
  const secrets = new Map<string, Promise<string | JsonObject>>()
  const resolved = await Promise.all(
    references.map(async (reference) => {
      const { name, manager, path } = reference
      const key = `${manager.prefix}:${path}`
      const reading = secrets.get(key) ?? manager.read(path, environment)
      secrets.set(key, reading)
      return [name, await pickValue(reference, reading)] as const
    }),
  )
  return { ...variables, ...Object.fromEntries(resolved) }
}

function parseReference(name: string, value: string | undefined): Reference[] {
  const [, prefix, path, field] = referencePattern.exec(value ?? '') ?? []
  const manager = managers.find((candidate) => candidate.prefix === prefix)
  return manager && path !== undefined ? [{ name, manager, path, field }] : []
}

async function pickValue({ name, field }: Reference, reading: Promise<string | JsonObject>): Promise<string> {
  try {
    return findField(await reading, field)
  } catch (error) {
    if (error instanceof SecretError || error instanceof ConfigError)
      throw new ConfigError(`${name} refers to a secret that cannot be read: ${error.message}`)
    throw error
  }
}

function findField(secret: string | JsonObject, field: string | undefined): string {
  if (field === undefined) {
    if (typeof secret === 'string') return secret.replace(/\r?\n$/, '')
    throw new SecretError('the secret has fields. Append #<field> to the reference.')
  }
  const fields = typeof secret === 'string' ? asObject(tryParseJson(secret)) : secret
  const value = asString(fields?.[field])
  if (value === undefined)
    throw new SecretError('the secret has no text in the field that the reference names.')
  return value
}
