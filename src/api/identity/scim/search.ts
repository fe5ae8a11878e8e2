import { findGroups } from './groups/handlers.ts'
import { createListHandler, type FindResources } from './listing.ts'
import { fieldOf } from './patch.ts'
import { createScimRoutes, type Json, readObject, ScimError, type ScimHandler } from './protocol.ts'
import { findUsers } from './users/handlers.ts'

/** A user or group has a few dozen attributes, and every name is compared with each of them. */
const maxNames = 200
const maxNameLength = 256

/** A query in the body of a POST, which keeps personal data out of URLs: RFC 7644, 3.4.3. */
function createSearchHandler(find: FindResources): ScimHandler {
  const list = createListHandler(find)
  return async (context) => list({ ...context, query: parseSearchBody(await readObject(context)) })
}

function parseSearchBody(body: Json): URLSearchParams {
  const parameters = {
    filter: parseText(body, 'filter'),
    startIndex: parseInteger(body, 'startIndex'),
    count: parseInteger(body, 'count'),
    attributes: parseNames(body, 'attributes'),
    excludedAttributes: parseNames(body, 'excludedAttributes'),
  }
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value)
  return query
}

function parseText(body: Json, name: string): string | undefined {
  const value = fieldOf(body, name.toLowerCase()) ?? undefined
  if (value === undefined || typeof value === 'string') return value
  throw new ScimError(400, 'invalidValue', `${name} must be a string.`)
}

function parseInteger(body: Json, name: string): string | undefined {
  const value = fieldOf(body, name.toLowerCase()) ?? undefined
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value)
  throw new ScimError(400, 'invalidValue', `${name} must be a whole number.`)
}

function parseNames(body: Json, name: string): string | undefined {
  const value = fieldOf(body, name.toLowerCase()) ?? undefined
  if (value === undefined) return undefined
  if (Array.isArray(value) && value.length <= maxNames && value.every(isName)) return value.join(',')
  throw new ScimError(400, 'invalidValue', `${name} must be a list of at most ${maxNames} attribute names.`)
}

function isName(item: unknown): boolean {
  return typeof item === 'string' && item.length <= maxNameLength && !item.includes(',')
}

/** Users before groups; an attribute that a resource does not have matches nothing: RFC 7644, 3.4.2.1. */
const findAllResources: FindResources = async (context, page) => {
  const users = await findUsers(context, page)
  const groups = await findGroups(context, {
    offset: Math.max(0, page.offset - users.total),
    limit: page.limit - users.resources.length,
  })
  return {
    resources: [...users.resources, ...groups.resources],
    total: users.total + groups.total,
  }
}

export const searchPages = [
  ...createScimRoutes('/.search', { POST: createSearchHandler(findAllResources) }),
  ...createScimRoutes('/Users/.search', { POST: createSearchHandler(findUsers) }),
  ...createScimRoutes('/Groups/.search', { POST: createSearchHandler(findGroups) }),
]
