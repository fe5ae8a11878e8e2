import { enterpriseUrn, isObject, type Json } from '../protocol.ts'

const booleanAttributes = new Set(['active', 'primary'])

/**
 * Normalizes what identity providers send differently from the standard: booleans as strings, null for
 * absent values, a manager as a bare id.
 */
export function normalizeUser(body: Json): Json {
  const user = normalizeValue(body) as Json
  const extension = Object.keys(user).find((name) => name.toLowerCase() === enterpriseUrn.toLowerCase())
  const inner = extension && user[extension]
  if (extension && isObject(inner)) user[extension] = { ...inner, ...normalizeManagerField(inner) }
  return user
}

function normalizeManagerField(extension: Json): Json {
  const name = Object.keys(extension).find((key) => key.toLowerCase() === 'manager')
  return name === undefined ? {} : { [name]: normalizeManager(extension[name]) }
}

export function normalizeManager(value: unknown): unknown {
  return typeof value === 'string' ? { value } : value
}

export function normalizeValue(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => normalizeValue(item))
  if (!isObject(value)) return booleanAttributes.has(name.toLowerCase()) ? normalizeBoolean(value) : value
  const present = Object.entries(value).filter(([, inner]) => inner !== null)
  return Object.fromEntries(present.map(([key, inner]) => [key, normalizeValue(inner, key)]))
}

function normalizeBoolean(value: unknown): unknown {
  if (typeof value !== 'string') return value
  const text = value.toLowerCase()
  return text === 'true' ? true : text === 'false' ? false : value
}
