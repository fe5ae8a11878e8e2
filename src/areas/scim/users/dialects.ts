import { enterpriseUrn, isObject, type Json } from '../protocol.ts'

const booleans = new Set(['active', 'primary'])

/**
 * What identity providers write differently from the standard, made standard: booleans as text, null for
 * absent, a manager as a bare id.
 */
export function standardUser(body: Json): Json {
  const user = standard(body) as Json
  const extension = Object.keys(user).find((name) => name.toLowerCase() === enterpriseUrn.toLowerCase())
  const inner = extension && user[extension]
  if (extension && isObject(inner)) user[extension] = { ...inner, ...managerOf(inner) }
  return user
}

function managerOf(extension: Json): Json {
  const name = Object.keys(extension).find((key) => key.toLowerCase() === 'manager')
  return name === undefined ? {} : { [name]: standardManager(extension[name]) }
}

export function standardManager(value: unknown): unknown {
  return typeof value === 'string' ? { value } : value
}

export function standard(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => standard(item))
  if (!isObject(value)) return booleans.has(name.toLowerCase()) ? standardBoolean(value) : value
  const kept = Object.entries(value).filter(([, inner]) => inner !== null)
  return Object.fromEntries(kept.map(([key, inner]) => [key, standard(inner, key)]))
}

function standardBoolean(value: unknown): unknown {
  if (typeof value !== 'string') return value
  const text = value.toLowerCase()
  return text === 'true' ? true : text === 'false' ? false : value
}
