import { isDeepStrictEqual } from 'node:util'
import { parseEqualities } from '../filter.ts'
import {
  fieldOf,
  invalidPathError,
  type PathOperation,
  parseOperations,
  parsePath,
  validateCount,
} from '../patch.ts'
import { enterpriseUrn, isObject, type Json, ScimError } from '../protocol.ts'
import { normalizeManager, normalizeValue } from './normalize.ts'
import { readStoredEmails, toNonEmptyList, toUserInput, toUserResource } from './record.ts'
import {
  findEnterpriseSpelling,
  findSpelling,
  isCompound,
  type PatchStep,
  parseUser,
  patchAttribute,
  rejectLongList,
} from './schema.ts'
import type { UserInput, UserRow } from './store.ts'

/** A user has a few dozen attributes. */
const maxOperations = 200
const maxSteps = 100

/** Computes the user after a PATCH; one failing operation rejects all of it. */
export async function computePatchedUser(row: UserRow, body: Json): Promise<UserInput> {
  const current = toUserResource(row, [], '')
  const { emails, ...rest } = await patchUser(current, body)
  // An e-mail derived from userName must not be stored, or it would stay when userName changes.
  const isSame = isDeepStrictEqual(emails, current.emails)
  return toUserInput({ ...rest, emails: isSame ? readStoredEmails(row) : (toNonEmptyList(emails) ?? null) })
}

async function patchUser(current: Json, body: Json): Promise<Json> {
  const steps = validateCount(parseOperations(body, maxOperations).flatMap(toSteps), maxSteps)
  let user = current
  for (const step of steps) {
    const next = removeDuplicates(await applyStep(user, step))
    for (const [name, value] of Object.entries(next)) rejectLongList(name, value, user[name])
    user = next
  }
  return parseUser(user)
}

function toSteps(operation: PathOperation): PatchStep[] {
  const path = operation.isImplied ? findCanonicalPath(operation.path) : toCanonicalPath(operation.path)
  if (path === undefined) return []
  const { op } = operation
  if (path === 'active' && op === 'remove') {
    throw new ScimError(400, 'mutability', 'active cannot be removed; replace it with true or false.')
  }
  if (path === enterpriseUrn && op !== 'remove' && operation.value !== null)
    return toExtensionSteps(operation)
  rejectLongList(path, operation.value)
  const value = normalizeStepValue(path, operation.value)
  // Some clients send null for an absent value.
  if (op !== 'remove' && value !== null) return [{ op, path, value }]
  return op === 'add' ? [] : [{ op: 'remove', path, ...(typeof value === 'object' && value && { value }) }]
}

function toExtensionSteps({ op, value }: PathOperation): PatchStep[] {
  if (!isObject(value)) throw new ScimError(400, 'invalidValue', `${enterpriseUrn} must be an object.`)
  return Object.entries(value).flatMap(([name, inner]) =>
    toSteps({ op, path: `${enterpriseUrn}:${name}`, value: inner, isImplied: true }),
  )
}

/** Drops unknown sub-attributes, as in a whole user. */
function findCanonicalPath(name: string): string | undefined {
  try {
    return toCanonicalPath(name)
  } catch (error) {
    if (error instanceof ScimError && error.scimType === 'invalidPath') return undefined
    throw error
  }
}

function normalizeStepValue(path: string, value: unknown): unknown {
  const clean = normalizeValue(value, lastSegmentOf(path))
  if (/:manager$/i.test(path)) return normalizeManager(clean)
  if (path.includes(':') || path.includes('[') || isCompound(path)) return clean
  // One provider wraps single values in its older requests: [{"value": "x"}].
  const [only] = Array.isArray(clean) && clean.length === 1 ? clean : []
  return isObject(only) && 'value' in only ? normalizeValue(only.value, lastSegmentOf(path)) : clean
}

function lastSegmentOf(path: string): string {
  return path.split(/[.:]/).at(-1) ?? ''
}

/** The library finds an attribute in any case, but changes it only under its canonical name. */
function toCanonicalPath(path: string): string {
  if (path.toLowerCase() === enterpriseUrn.toLowerCase()) return enterpriseUrn
  const { urn, name, filter, sub } = parsePath(path)
  if (urn.toLowerCase() === `${enterpriseUrn}:`.toLowerCase()) {
    const spelt = filter === undefined ? findEnterpriseSpelling(name, sub) : undefined
    if (spelt === undefined) throw invalidPathError(path)
    return `${enterpriseUrn}:${spelt}`
  }
  if (urn !== '' && urn.toLowerCase() !== 'urn:ietf:params:scim:schemas:core:2.0:user:')
    throw invalidPathError(path)
  const spelt = findSpelling(name, sub)
  if (!spelt) throw invalidPathError(path)
  if (filter === undefined) return spelt
  const [attribute = '', part] = spelt.split('.')
  return `${attribute}[${toCanonicalFilter(attribute, filter)}]${part === undefined ? '' : `.${part}`}`
}

/** Rewrites the filter for the library, which expands alternatives and does not know escapes. */
function toCanonicalFilter(attribute: string, filter: string): string {
  const clauses = Object.entries(parseEqualities(filter) ?? {}).map(([name, value]) => {
    const part = findSpelling(attribute, name)?.split('.')[1]
    const text = JSON.stringify(value)
    return part === undefined || text.includes('\\') ? undefined : `${part} eq ${text}`
  })
  if (clauses.length > 0 && !clauses.includes(undefined)) return clauses.join(' and ')
  throw new ScimError(400, 'invalidFilter', 'The filter of a path supports only "eq", joined by "and".')
}

async function applyStep(user: Json, step: PatchStep): Promise<Json> {
  if (step.op === 'remove' && step.path === enterpriseUrn) return omitAttribute(user, enterpriseUrn)
  if (step.op === 'remove' && step.value !== undefined) return removeValues(user, step)
  try {
    return await patchAttribute(user, step)
  } catch (error) {
    const element =
      error instanceof ScimError && error.scimType === 'noTarget' ? toElementStep(step) : undefined
    if (!element) throw error
    return patchAttribute(user, element)
  }
}

function omitAttribute(user: Json, attribute: string): Json {
  return Object.fromEntries(Object.entries(user).filter(([name]) => name !== attribute))
}

/** Done here, because the library would turn the values into a filter. */
async function removeValues(user: Json, { path, value }: PatchStep): Promise<Json> {
  const list = user[path]
  if (!Array.isArray(list)) return patchAttribute(user, { op: 'remove', path })
  const leaving = Array.isArray(value) ? value : [value]
  const remaining = list.filter((item) => !leaving.some((one) => isMatchingItem(item, one)))
  return remaining.length > 0 ? { ...user, [path]: remaining } : omitAttribute(user, path)
}

function isMatchingItem(item: unknown, pattern: unknown): boolean {
  if (!isObject(item) || !isObject(pattern)) return item === pattern
  const parts = Object.entries(pattern)
  return parts.length > 0 && parts.every(([name, value]) => fieldOf(item, name.toLowerCase()) === value)
}

/** Setting `emails[type eq "work"].value` without such an e-mail adds one, as identity providers expect. */
function toElementStep(step: PatchStep): PatchStep | undefined {
  const { name, filter, sub } = parsePath(step.path)
  const equal = filter === undefined ? undefined : parseEqualities(filter)
  if (!equal || step.op === 'remove') return undefined
  const rest = sub === undefined ? step.value : { [sub]: step.value }
  return isObject(rest) ? { op: 'add', path: name, value: [{ ...equal, ...rest }] } : undefined
}

/** Adding an existing value changes nothing: RFC 7644, 3.5.2.1. */
function removeDuplicates(user: Json): Json {
  return Object.fromEntries(
    Object.entries(user).map(([name, value]) => [
      name,
      Array.isArray(value) ? [...new Map(value.map((item) => [JSON.stringify(item), item])).values()] : value,
    ]),
  )
}
