import { canonicalEmail, emailOf } from '../../../../identity/members.ts'
import { isSingleLine } from '../../../../platform/validation/name-schema.ts'
import { isObject, type Json, ScimError } from '../protocol.ts'
import { normalizeUser } from './normalize.ts'
import { findSpelling, parseUser, rejectLongList } from './schema.ts'
import type { UserGroup, UserInput, UserRow } from './store.ts'

const maxNameLength = 256
const maxResourceLength = 64 * 1024
const emailPattern = /^[^\s@]{1,64}@[^\s@]{1,189}$/

export function parseUserInput(body: Json): UserInput {
  for (const [name, value] of Object.entries(body)) {
    if (name.toLowerCase() !== 'groups' && findSpelling(name)) rejectLongList(name, value)
  }
  return toUserInput(parseUser(normalizeUser(body)))
}

/** `user` has passed the schema. The password is never stored; groups and meta are read-only. */
export function toUserInput(user: Json): UserInput {
  const { schemas, id, meta, externalId, active, groups, password, name, ...rest } = user
  const { givenName, familyName, ...otherNames } = isObject(name) ? name : {}
  const userName = parseText('userName', user.userName)
  if (!userName) throw new ScimError(400, 'invalidValue', 'userName is required.')
  const resource = JSON.stringify({
    ...rest,
    ...(Object.keys(otherNames).length > 0 && { name: otherNames }),
  })
  if (resource.length > maxResourceLength) {
    throw new ScimError(
      413,
      undefined,
      `The attributes of a user are larger than ${maxResourceLength} bytes.`,
    )
  }
  return {
    userName,
    externalId: parseText('externalId', externalId),
    email: resolveEmail(user.emails, userName),
    firstName: parseText('name.givenName', givenName),
    lastName: parseText('name.familyName', familyName),
    active: typeof active === 'boolean' ? active : undefined,
    resource,
  }
}

function parseText(name: string, value: unknown): string | null {
  if (typeof value !== 'string' || value.trim() === '') return null
  if (!isSingleLine(value))
    throw new ScimError(400, 'invalidValue', `${name} must not contain control characters or line breaks.`)
  if (value.length <= maxNameLength) return value
  throw new ScimError(400, 'invalidValue', `${name} is longer than ${maxNameLength} characters.`)
}

/** The primary e-mail, else the work e-mail, else the first; else a user name that is an address. */
function resolveEmail(emails: unknown, userName: string): string | undefined {
  const list = Array.isArray(emails) ? emails.filter(isObject).filter((email) => email.value) : []
  const chosen =
    list.find((email) => email.primary === true) ?? list.find((email) => email.type === 'work') ?? list[0]
  if (!chosen) return emailPattern.test(userName) ? canonicalEmail(userName) : undefined
  const address = String(chosen.value).trim()
  if (emailPattern.test(address)) return canonicalEmail(address)
  throw new ScimError(400, 'invalidValue', 'emails: the address is not an e-mail address.')
}

/** The e-mails a client set; null if a PATCH removed them, undefined if none were ever set. */
export function readStoredEmails(row: UserRow): unknown[] | null | undefined {
  const { emails } = JSON.parse(row.resource) as Json
  return emails === null ? null : toNonEmptyList(emails)
}

/** An empty list is the same as no value: RFC 7643, 2.5. */
export function toNonEmptyList(value: unknown): unknown[] | undefined {
  return Array.isArray(value) && value.length > 0 ? value : undefined
}

/** The user resource as a client sees it; a PATCH starts from it. */
export function toUserResource(row: UserRow, groups: UserGroup[], base: string): Json {
  const { userName, name, emails, ...rest } = JSON.parse(row.resource) as Json
  const names = {
    ...(isObject(name) && name),
    ...(row.first_name !== null && { givenName: row.first_name }),
    ...(row.last_name !== null && { familyName: row.last_name }),
  }
  return {
    schemas: schemasOf(rest),
    id: row.id,
    ...(row.external_id !== null && { externalId: row.external_id }),
    userName,
    ...(Object.keys(names).length > 0 && { name: names }),
    ...rest,
    active: row.active === 1,
    ...toEmails(row, emails),
    groups: groups.map((group) => ({
      value: group.group_id,
      display: group.display_name,
      type: 'direct',
      $ref: `${base}/Groups/${group.group_id}`,
    })),
    meta: {
      resourceType: 'User',
      created: row.created_at,
      lastModified: row.updated_at,
      location: `${base}/Users/${row.id}`,
    },
  }
}

/** The member's address if no client set or removed e-mails. */
function toEmails(row: UserRow, emails: unknown): Json {
  if (emails === null) return {}
  if (toNonEmptyList(emails)) return { emails }
  const address = emailOf(row)
  return address === null ? {} : { emails: [{ value: address, type: 'work', primary: true }] }
}

function schemasOf(attributes: Json): string[] {
  const extensions = Object.keys(attributes).filter((name) => name.startsWith('urn:'))
  return ['urn:ietf:params:scim:schemas:core:2.0:User', ...extensions]
}
