import type { z } from 'zod'
import type { Vault } from '../../platform/crypto/crypto.ts'
import { fullMask, isMasked, maskSecret } from '../../platform/crypto/mask.ts'
import { invalidFieldError, invalidFieldsError } from '../../platform/errors/gateway-error.ts'
import { findUrlProblem } from '../../platform/http/egress-policy.ts'
import { flattenIssues } from '../../platform/validation/validation-issues.ts'
import type { Destination, DestinationConfig } from './destination.ts'

/** Binds a encrypted value to its row. */
const contextOf = (id: string) => `destination/${id}`

/** The columns of a config: its secrets are encrypted together. */
export function encryptConfig(vault: Vault, kind: Destination, id: string, config: DestinationConfig) {
  const entries = Object.entries(config)
  const encodePart = (secret: boolean) =>
    JSON.stringify(Object.fromEntries(entries.filter(([name]) => isSecret(kind, name) === secret)))
  return { config: encodePart(false), sealed_secrets: vault.encrypt(encodePart(true), contextOf(id)) }
}

/** The whole config, secrets included. */
export function openConfig(
  vault: Vault,
  row: { id: string; config: string; sealed_secrets: string },
): DestinationConfig {
  const secrets = JSON.parse(vault.decrypt(row.sealed_secrets, contextOf(row.id))) as DestinationConfig
  return { ...(JSON.parse(row.config) as DestinationConfig), ...secrets }
}

function isSecret(kind: Destination, field: string): boolean {
  return field === 'headers' || kind.secrets.includes(field)
}

/** The config as a response may show it. */
export function maskConfig(
  kind: Destination,
  config: DestinationConfig,
): Record<string, string | Record<string, string>> {
  const { headers, ...fields } = config
  const shown = Object.entries(fields).map(([name, value]): [string, string] => {
    const text = String(value)
    return [name, kind.secrets.includes(name) ? maskSecret(text) : text]
  })
  return {
    ...Object.fromEntries(shown),
    ...(headers && { headers: Object.fromEntries(Object.keys(headers).map((name) => [name, fullMask])) }),
  }
}

/** The names of all secrets that are set. */
export function listSecrets(kind: Destination, config: DestinationConfig): string[] {
  const fields = kind.secrets.filter((name) => config[name] !== undefined)
  return [...fields, ...Object.keys(config.headers ?? {}).map(headerSecretName)]
}

/** Lists the secret values, except those so short that they may be part of any text. */
export function listSecretValues(kind: Destination, config: DestinationConfig): string[] {
  const values = [...kind.secrets.map((name) => config[name]), ...Object.values(config.headers ?? {})]
  return values.filter(
    (value): value is string => typeof value === 'string' && value.length >= minSecretLength,
  )
}

const minSecretLength = 6

function headerSecretName(name: string): string {
  return `headers.${name.toLowerCase()}`
}

export interface MergedConfig {
  config: DestinationConfig
  /** The secrets that were entered again. */
  renewed: ReadonlySet<string>
}

/** Merges a PATCH: null clears a field, a masked secret leaves it unchanged, `headers` are replaced as a whole. */
export function mergeConfig(
  kind: Destination,
  stored: DestinationConfig,
  sent: Record<string, unknown>,
): MergedConfig {
  const merged: Record<string, unknown> = { ...stored }
  const renewed = new Set<string>()
  for (const [field, value] of Object.entries(sent)) {
    // Own fields only: every object has `constructor`.
    if (!Object.hasOwn(kind.config.shape, field))
      throw invalidFieldError(`config.${field}`, 'is not a known field')
    const schema = kind.config.shape[field] as z.ZodType
    if (value === null) {
      if (!schema.safeParse(undefined).success)
        throw invalidFieldError(`config.${field}`, 'cannot be cleared')
      delete merged[field]
    } else if (field === 'headers') merged[field] = mergeHeaders(stored.headers ?? {}, value, renewed)
    else if (!kind.secrets.includes(field)) merged[field] = value
    else if (typeof value !== 'string' || !isMasked(value.trim())) {
      merged[field] = value
      renewed.add(field)
    }
  }
  return { config: parseConfig(kind, merged), renewed }
}

/** Values other than an object are left for the schema to reject. */
function mergeHeaders(stored: Record<string, string>, sent: unknown, renewed: Set<string>): unknown {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) return sent
  const known = new Map(Object.entries(stored).map(([name, value]) => [name.toLowerCase(), value]))
  const merged: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(sent)) {
    if (typeof value !== 'string' || value.trim() !== fullMask) {
      merged[name] = value
      renewed.add(headerSecretName(name))
    } else if (known.has(name.toLowerCase())) merged[name] = known.get(name.toLowerCase())
  }
  return merged
}

function parseConfig(kind: Destination, config: Record<string, unknown>): DestinationConfig {
  const result = kind.config.safeParse(config)
  if (result.success) return result.data as DestinationConfig
  const [first, ...more] = flattenIssues(result.error).map(({ path, message }) => ({
    field: ['config', ...path].join('.'),
    message,
  }))
  throw invalidFieldsError([first ?? { field: 'config', message: 'is not valid' }, ...more])
}

/** Rejects masked secrets, which a copied destination would contain. */
export function rejectMaskedValues(kind: Destination, config: DestinationConfig): void {
  for (const field of kind.secrets) {
    const value = config[field]
    if (typeof value === 'string' && isMasked(value))
      throw invalidFieldError(`config.${field}`, 'is a masked value; send the secret itself')
  }
  for (const [name, value] of Object.entries(config.headers ?? {})) {
    if (value.trim() === fullMask)
      throw invalidFieldError(`config.headers.${name}`, 'is a masked value; send the secret itself')
  }
}

/** The origin reports are sent to; null if the config has no valid target. */
export function originOf(kind: Destination, config: DestinationConfig): string | null {
  const target = kind.target(config)
  return target === null ? null : (URL.parse(target)?.origin ?? null)
}

export function validateAddress(
  kind: Destination,
  config: DestinationConfig,
  allowPrivate: readonly string[],
): void {
  const target = kind.target(config)
  const problem = target === null ? null : findUrlProblem(URL.parse(target), allowPrivate)
  if (problem !== null)
    throw invalidFieldError(kind.address === null ? 'config' : `config.${kind.address}`, problem)
}

/** S6: secrets are sent only to the origin they were entered for. */
export function areSecretsHeldBack(
  kind: Destination,
  config: DestinationConfig,
  secretsOrigin: string | null,
): boolean {
  return listSecrets(kind, config).length > 0 && originOf(kind, config) !== secretsOrigin
}
