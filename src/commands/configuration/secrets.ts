import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto'
import type { Environment } from '../../config.ts'
import { asObject, type JsonObject } from '../../platform/json/json-values.ts'

/** A value that is not in the file: the variable `NAME`, the file that `NAME_FILE` names, or a secret manager's. */
const referencePattern = /^\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}$/

export function variableOf(value: unknown): string | null {
  return typeof value === 'string' ? (referencePattern.exec(value)?.[1] ?? null) : null
}

export interface ResolvedSpec {
  /** References are replaced with their values; those without a value are absent. */
  spec: JsonObject
  /** The value of each reference, by the dotted path of its field; null if its variable is not set. */
  secrets: Map<string, { variable: string; value: string | null }>
}

/** Replaces the references in the values of a document. */
export function resolveSecrets(spec: JsonObject, environment: Environment): ResolvedSpec {
  const secrets: ResolvedSpec['secrets'] = new Map()
  const replace = (value: unknown, path: string): unknown => {
    const variable = variableOf(value)
    if (variable !== null) {
      const found = environment[variable] || null
      secrets.set(path, { variable, value: found })
      return found ?? undefined
    }
    if (Array.isArray(value)) return value.map((item, index) => replace(item, `${path}.${index}`))
    const object = asObject(value)
    if (!object) return value
    const entries = Object.entries(object).map(
      ([name, item]) => [name, replace(item, path === '' ? name : `${path}.${name}`)] as const,
    )
    return Object.fromEntries(entries.filter(([, item]) => item !== undefined))
  }
  return { spec: (replace(spec, '') as JsonObject) ?? {}, secrets }
}

const hashBytes = 32

/** What tells later whether a secret has changed, and nothing else. */
export function hashSecret(secret: string, salt = randomBytes(16)): string {
  return `${salt.toString('hex')}:${scryptSync(secret, salt, hashBytes).toString('hex')}`
}

export function isSameSecret(secret: string, hash: string | undefined): boolean {
  const [salt, expected] = hash?.split(':') ?? []
  if (salt === undefined || expected?.length !== hashBytes * 2) return false
  const actual = scryptSync(secret, Buffer.from(salt, 'hex'), hashBytes)
  return timingSafeEqual(actual, Buffer.from(expected, 'hex'))
}
