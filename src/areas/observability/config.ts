import type { z } from 'zod'
import type { Config, Destination } from '../../destinations/destination.ts'
import { badField, badFields } from '../../errors.ts'
import { urlProblem } from '../../lib/egress.ts'
import { fullMask, isMasked, mask } from '../../lib/mask.ts'
import { problemsOf } from '../../lib/problems.ts'
import type { Vault } from '../../lib/secret.ts'

/** A sealed text is of use in its own row alone. */
const contextOf = (id: string) => `destination/${id}`

/** The columns a config is stored in: what is secret is sealed, in one piece. */
export function sealConfig(vault: Vault, kind: Destination, id: string, config: Config) {
  const entries = Object.entries(config)
  const part = (secret: boolean) =>
    JSON.stringify(Object.fromEntries(entries.filter(([name]) => isSecret(kind, name) === secret)))
  return { config: part(false), sealed_secrets: vault.seal(part(true), contextOf(id)) }
}

/** The whole config, secrets included. */
export function openConfig(
  vault: Vault,
  row: { id: string; config: string; sealed_secrets: string },
): Config {
  const secrets = JSON.parse(vault.open(row.sealed_secrets, contextOf(row.id))) as Config
  return { ...(JSON.parse(row.config) as Config), ...secrets }
}

function isSecret(kind: Destination, field: string): boolean {
  return field === 'headers' || kind.secrets.includes(field)
}

/** What a response may show. */
export function maskConfig(
  kind: Destination,
  config: Config,
): Record<string, string | Record<string, string>> {
  const { headers, ...fields } = config
  const shown = Object.entries(fields).map(([name, value]): [string, string] => {
    const text = String(value)
    return [name, kind.secrets.includes(name) ? mask(text) : text]
  })
  return {
    ...Object.fromEntries(shown),
    ...(headers && { headers: Object.fromEntries(Object.keys(headers).map((name) => [name, fullMask])) }),
  }
}

/** Each secret there is, by name. */
export function secretsOf(kind: Destination, config: Config): string[] {
  const fields = kind.secrets.filter((name) => config[name] !== undefined)
  return [...fields, ...Object.keys(config.headers ?? {}).map(headerKey)]
}

function headerKey(name: string): string {
  return `headers.${name.toLowerCase()}`
}

export interface Merged {
  config: Config
  /** The secrets that were sent anew. */
  renewed: ReadonlySet<string>
}

/** What was sent over what is held: null clears, a masked secret stays as it is. `headers` are replaced together. */
export function mergeConfig(kind: Destination, held: Config, sent: Record<string, unknown>): Merged {
  const merged: Record<string, unknown> = { ...held }
  const renewed = new Set<string>()
  for (const [field, value] of Object.entries(sent)) {
    // Only its own fields: `constructor` is in every object.
    if (!Object.hasOwn(kind.config.shape, field)) throw badField(`config.${field}`, 'is not a known field')
    const schema = kind.config.shape[field] as z.ZodType
    if (value === null) {
      if (!schema.safeParse(undefined).success) throw badField(`config.${field}`, 'cannot be cleared')
      delete merged[field]
    } else if (field === 'headers') merged[field] = mergeHeaders(held.headers ?? {}, value, renewed)
    else if (!kind.secrets.includes(field)) merged[field] = value
    else if (typeof value !== 'string' || !isMasked(value.trim())) {
      merged[field] = value
      renewed.add(field)
    }
  }
  return { config: parseConfig(kind, merged), renewed }
}

/** Anything but a map is left for the schema to refuse. */
function mergeHeaders(held: Record<string, string>, sent: unknown, renewed: Set<string>): unknown {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) return sent
  const known = new Map(Object.entries(held).map(([name, value]) => [name.toLowerCase(), value]))
  const merged: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(sent)) {
    if (typeof value !== 'string' || value.trim() !== fullMask) {
      merged[name] = value
      renewed.add(headerKey(name))
    } else if (known.has(name.toLowerCase())) merged[name] = known.get(name.toLowerCase())
  }
  return merged
}

function parseConfig(kind: Destination, config: Record<string, unknown>): Config {
  const result = kind.config.safeParse(config)
  if (result.success) return result.data as Config
  const [first, ...more] = problemsOf(result.error).map(({ path, message }) => ({
    field: ['config', ...path].join('.'),
    message,
  }))
  throw badFields([first ?? { field: 'config', message: 'is not valid' }, ...more])
}

/** A mask is no secret: whoever copies a destination must enter the real ones. */
export function refuseMasks(kind: Destination, config: Config): void {
  for (const field of kind.secrets) {
    const value = config[field]
    if (typeof value === 'string' && isMasked(value)) throw badField(`config.${field}`, 'is a masked value')
  }
  for (const [name, value] of Object.entries(config.headers ?? {})) {
    if (value.trim() === fullMask) throw badField(`config.headers.${name}`, 'is a masked value')
  }
}

/** Where the reports go, if that is an address one may be sent to. */
export function originOf(kind: Destination, config: Config): string | null {
  const target = kind.target(config)
  return target === null ? null : (URL.parse(target)?.origin ?? null)
}

export function refuseAddress(kind: Destination, config: Config, allowPrivate: readonly string[]): void {
  const target = kind.target(config)
  const problem = target === null ? null : urlProblem(URL.parse(target), allowPrivate)
  if (problem !== null) throw badField(kind.address === null ? 'config' : `config.${kind.address}`, problem)
}
