import { findGroups } from './groups/handlers.ts'
import { type FindResources, listHandler } from './listing.ts'
import { fieldOf } from './patch.ts'
import { type Json, readObject, ScimError, type ScimHandler, scimPages } from './protocol.ts'
import { findUsers } from './users/handlers.ts'

/** A user or group has a few dozen attributes, and each name is compared with each of them. */
const maxNames = 200
const maxNameLength = 256

/** A query in the body of a POST, which keeps personal data out of addresses: RFC 7644, 3.4.3. */
function searchHandler(find: FindResources): ScimHandler {
  const list = listHandler(find)
  return async (ask) => list({ ...ask, query: queryOfBody(await readObject(ask)) })
}

function queryOfBody(body: Json): URLSearchParams {
  const parameters = {
    filter: textOf(body, 'filter'),
    startIndex: integerOf(body, 'startIndex'),
    count: integerOf(body, 'count'),
    attributes: namesOf(body, 'attributes'),
    excludedAttributes: namesOf(body, 'excludedAttributes'),
  }
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value)
  return query
}

function textOf(body: Json, name: string): string | undefined {
  const value = fieldOf(body, name.toLowerCase()) ?? undefined
  if (value === undefined || typeof value === 'string') return value
  throw new ScimError(400, 'invalidValue', `${name} must be a text.`)
}

function integerOf(body: Json, name: string): string | undefined {
  const value = fieldOf(body, name.toLowerCase()) ?? undefined
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value)
  throw new ScimError(400, 'invalidValue', `${name} must be a whole number.`)
}

function namesOf(body: Json, name: string): string | undefined {
  const value = fieldOf(body, name.toLowerCase()) ?? undefined
  if (value === undefined) return undefined
  if (Array.isArray(value) && value.length <= maxNames && value.every(isName)) return value.join(',')
  throw new ScimError(400, 'invalidValue', `${name} must be a list of at most ${maxNames} attribute names.`)
}

function isName(item: unknown): boolean {
  return typeof item === 'string' && item.length <= maxNameLength && !item.includes(',')
}

/** Users come before groups; an attribute that a resource does not have matches nothing: RFC 7644, 3.4.2.1. */
const findAll: FindResources = async (ask, page) => {
  const users = await findUsers(ask, page)
  const groups = await findGroups(ask, {
    offset: Math.max(0, page.offset - users.total),
    limit: page.limit - users.resources.length,
  })
  return {
    resources: [...users.resources, ...groups.resources],
    total: users.total + groups.total,
  }
}

export const searchPages = [
  ...scimPages('/.search', { POST: searchHandler(findAll) }),
  ...scimPages('/Users/.search', { POST: searchHandler(findUsers) }),
  ...scimPages('/Groups/.search', { POST: searchHandler(findGroups) }),
]
