import { equalitiesOf } from '../filter.ts'
import { invalidPath, operationsOf, type PatchOperation, partsOfPath } from '../patch.ts'
import { isObject, type Json, ScimError } from '../protocol.ts'
import { standard, standardManager } from './dialects.ts'
import { enterpriseUrn, isCompound, type PatchStep, patchedUser, shapedUser, spellingOf } from './schema.ts'

/** A user has a few dozen attributes. */
const maxOperations = 200

/** The user a PATCH makes of `current`; nothing is kept when one of its operations is refused. */
export async function patchUser(current: Json, body: Json): Promise<Json> {
  let user = current
  for (const operation of operationsOf(body, maxOperations)) {
    const step = stepOf(operation)
    if (step) user = await applied(user, step)
  }
  return shapedUser(withoutRepeats(user))
}

function stepOf(operation: PatchOperation & { path: string }): PatchStep | undefined {
  const path = canonicalPath(operation.path)
  const { op } = operation
  const value = valueFor(path, operation.value)
  // Null is how some clients say that there is nothing.
  if (op === 'remove' || value === null) {
    return op === 'add' ? undefined : { op: 'remove', path, ...(Array.isArray(value) && { value }) }
  }
  return { op, path, value }
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
    return `${enterpriseUrn}:${name}${sub === undefined ? '' : `.${sub}`}`
  }
  if (urn !== '' && urn.toLowerCase() !== 'urn:ietf:params:scim:schemas:core:2.0:user:')
    throw invalidPath(path)
  const spelt = spellingOf(name, sub)
  if (!spelt) throw invalidPath(path)
  if (filter === undefined) return spelt
  const [attribute = '', part] = spelt.split('.')
  return `${attribute}[${filter}]${part === undefined ? '' : `.${part}`}`
}

async function applied(user: Json, step: PatchStep): Promise<Json> {
  try {
    return await patchedUser(user, step)
  } catch (error) {
    const element = error instanceof ScimError && error.scimType === 'noTarget' ? elementFor(step) : undefined
    if (!element) throw error
    return patchedUser(user, element)
  }
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
