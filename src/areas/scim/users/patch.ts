import { isDeepStrictEqual } from 'node:util'
import { equalitiesOf } from '../filter.ts'
import { fieldOf, invalidPath, operationsOf, type PathOperation, partsOfPath, refuseMore } from '../patch.ts'
import { enterpriseUrn, isObject, type Json, ScimError } from '../protocol.ts'
import { standard, standardManager } from './dialects.ts'
import { filledList, storedEmails, userResource, wantedFrom } from './record.ts'
import {
  enterpriseSpellingOf,
  isCompound,
  type PatchStep,
  patchedUser,
  refuseLong,
  shapedUser,
  spellingOf,
} from './schema.ts'
import type { UserRow, WantedUser } from './store.ts'

/** A user has a few dozen attributes. */
const maxOperations = 200
const maxSteps = 100

/** What a PATCH makes of a user; nothing is kept when one of its operations is refused. */
export async function wantedFromPatch(row: UserRow, body: Json): Promise<WantedUser> {
  const current = userResource(row, [], '')
  const { emails, ...rest } = await patchUser(current, body)
  // An address that was only shown must not become one that stays when userName changes.
  const isSame = isDeepStrictEqual(emails, current.emails)
  return wantedFrom({ ...rest, emails: isSame ? storedEmails(row) : (filledList(emails) ?? null) })
}

async function patchUser(current: Json, body: Json): Promise<Json> {
  const steps = refuseMore(operationsOf(body, maxOperations).flatMap(stepsOf), maxSteps)
  let user = current
  for (const step of steps) {
    const next = withoutRepeats(await applied(user, step))
    for (const [name, value] of Object.entries(next)) refuseLong(name, value, user[name])
    user = next
  }
  return shapedUser(user)
}

function stepsOf(operation: PathOperation): PatchStep[] {
  const path = operation.implied ? knownPath(operation.path) : canonicalPath(operation.path)
  if (path === undefined) return []
  const { op } = operation
  if (path === 'active' && op === 'remove') {
    throw new ScimError(400, 'mutability', 'active cannot be removed; replace it with true or false.')
  }
  if (path === enterpriseUrn && op !== 'remove' && operation.value !== null) return extensionSteps(operation)
  refuseLong(path, operation.value)
  const value = valueFor(path, operation.value)
  // Null is how some clients say that there is nothing.
  if (op !== 'remove' && value !== null) return [{ op, path, value }]
  return op === 'add' ? [] : [{ op: 'remove', path, ...(typeof value === 'object' && value && { value }) }]
}

function extensionSteps({ op, value }: PathOperation): PatchStep[] {
  if (!isObject(value)) throw new ScimError(400, 'invalidValue', `${enterpriseUrn} must be an object.`)
  return Object.entries(value).flatMap(([name, inner]) =>
    stepsOf({ op, path: `${enterpriseUrn}:${name}`, value: inner, implied: true }),
  )
}

/** Unknown attributes of a value are dropped, as in a whole user. */
function knownPath(name: string): string | undefined {
  try {
    return canonicalPath(name)
  } catch (error) {
    if (error instanceof ScimError && error.scimType === 'invalidPath') return undefined
    throw error
  }
}

function valueFor(path: string, value: unknown): unknown {
  const clean = standard(value, lastOf(path))
  if (/:manager$/i.test(path)) return standardManager(clean)
  if (path.includes(':') || path.includes('[') || isCompound(path)) return clean
  // An older style of one provider wraps single values: [{"value": "x"}].
  const [only] = Array.isArray(clean) && clean.length === 1 ? clean : []
  return isObject(only) && 'value' in only ? standard(only.value, lastOf(path)) : clean
}

function lastOf(path: string): string {
  return path.split(/[.:]/).at(-1) ?? ''
}

/** The library finds an attribute whatever its case, but changes it only under its own name. */
function canonicalPath(path: string): string {
  if (path.toLowerCase() === enterpriseUrn.toLowerCase()) return enterpriseUrn
  const { urn, name, filter, sub } = partsOfPath(path)
  if (urn.toLowerCase() === `${enterpriseUrn}:`.toLowerCase()) {
    const spelt = filter === undefined ? enterpriseSpellingOf(name, sub) : undefined
    if (spelt === undefined) throw invalidPath(path)
    return `${enterpriseUrn}:${spelt}`
  }
  if (urn !== '' && urn.toLowerCase() !== 'urn:ietf:params:scim:schemas:core:2.0:user:')
    throw invalidPath(path)
  const spelt = spellingOf(name, sub)
  if (!spelt) throw invalidPath(path)
  if (filter === undefined) return spelt
  const [attribute = '', part] = spelt.split('.')
  return `${attribute}[${canonicalFilter(attribute, filter)}]${part === undefined ? '' : `.${part}`}`
}

/** Written anew, so that the library reads in it what we did: it multiplies out and knows no escapes. */
function canonicalFilter(attribute: string, filter: string): string {
  const clauses = Object.entries(equalitiesOf(filter) ?? {}).map(([name, value]) => {
    const part = spellingOf(attribute, name)?.split('.')[1]
    const text = JSON.stringify(value)
    return part === undefined || text.includes('\\') ? undefined : `${part} eq ${text}`
  })
  if (clauses.length > 0 && !clauses.includes(undefined)) return clauses.join(' and ')
  throw new ScimError(400, 'invalidFilter', 'The filter of a path takes only "eq", joined by "and".')
}

async function applied(user: Json, step: PatchStep): Promise<Json> {
  if (step.op === 'remove' && step.path === enterpriseUrn) return without(user, enterpriseUrn)
  if (step.op === 'remove' && step.value !== undefined) return withoutValues(user, step)
  try {
    return await patchedUser(user, step)
  } catch (error) {
    const element = error instanceof ScimError && error.scimType === 'noTarget' ? elementFor(step) : undefined
    if (!element) throw error
    return patchedUser(user, element)
  }
}

function without(user: Json, attribute: string): Json {
  return Object.fromEntries(Object.entries(user).filter(([name]) => name !== attribute))
}

/** Not left to the library, which would make a filter of the values. */
async function withoutValues(user: Json, { path, value }: PatchStep): Promise<Json> {
  const list = user[path]
  if (!Array.isArray(list)) return patchedUser(user, { op: 'remove', path })
  const leaving = Array.isArray(value) ? value : [value]
  const kept = list.filter((item) => !leaving.some((one) => isMeant(item, one)))
  return kept.length > 0 ? { ...user, [path]: kept } : without(user, path)
}

function isMeant(item: unknown, wanted: unknown): boolean {
  if (!isObject(item) || !isObject(wanted)) return item === wanted
  const parts = Object.entries(wanted)
  return parts.length > 0 && parts.every(([name, value]) => fieldOf(item, name.toLowerCase()) === value)
}

/** Setting `emails[type eq "work"].value` where there is no such e-mail adds one: what providers expect. */
function elementFor(step: PatchStep): PatchStep | undefined {
  const { name, filter, sub } = partsOfPath(step.path)
  const equal = filter === undefined ? undefined : equalitiesOf(filter)
  if (!equal || step.op === 'remove') return undefined
  const rest = sub === undefined ? step.value : { [sub]: step.value }
  return isObject(rest) ? { op: 'add', path: name, value: [{ ...equal, ...rest }] } : undefined
}

/** Adding a value that is there changes nothing: RFC 7644, 3.5.2.1. */
function withoutRepeats(user: Json): Json {
  return Object.fromEntries(
    Object.entries(user).map(([name, value]) => [
      name,
      Array.isArray(value) ? [...new Map(value.map((item) => [JSON.stringify(item), item])).values()] : value,
    ]),
  )
}
