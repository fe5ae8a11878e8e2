import { valuesOf } from '../filter.ts'
import { invalidPath, operationsOf, type PatchOperation, type PathOperation, partsOfPath } from '../patch.ts'
import { isObject, type Json, ScimError } from '../protocol.ts'

/** What a request says about the members of a group. Ids are of SCIM users. */
export interface MemberChange {
  /** Everyone who is not in `add` goes. */
  reset: boolean
  add: Set<string>
  remove: Set<string>
}

export interface GroupChange {
  displayName?: string
  externalId?: string | null
  members: MemberChange
}

/** One request changes no more members than this; clients send longer lists in parts. */
const maxMembers = 10_000
const maxNameLength = 256

/** All operations taken together, so that a thousand of one member each cost no more than one of a thousand. */
export function groupChangeOf(body: Json): GroupChange {
  const change: GroupChange = { members: { reset: false, add: new Set(), remove: new Set() } }
  for (const operation of operationsOf(body, maxMembers)) fold(change, operation)
  return change
}

function fold(change: GroupChange, operation: PathOperation): void {
  const { urn, name, filter, sub } = partsOfPath(operation.path)
  if (urn !== '' && urn.toLowerCase() !== 'urn:ietf:params:scim:schemas:core:2.0:group:') {
    throw invalidPath(operation.path)
  }
  const attribute = sub === undefined ? name.toLowerCase() : ''
  if (attribute === 'members') foldMembers(change.members, operation, filter)
  else if (filter !== undefined) throw invalidPath(operation.path)
  else if (attribute === 'displayname') change.displayName = nameOf(single(operation.value))
  else if (attribute === 'externalid') {
    change.externalId = operation.op === 'remove' ? null : externalIdOf(single(operation.value))
  } else throw invalidPath(operation.path)
}

function foldMembers(members: MemberChange, operation: PatchOperation, filter: string | undefined): void {
  const { op, value } = operation
  const everyone = op === 'replace' || (op === 'remove' && filter === undefined && isNothing(value))
  const ids = filter === undefined ? memberIdsOf(value) : filteredIds(op, filter)
  if (everyone) {
    members.reset = true
    members.add.clear()
    members.remove.clear()
  }
  const [into, outOf] = op === 'remove' ? [members.remove, members.add] : [members.add, members.remove]
  for (const id of ids) {
    into.add(id)
    outOf.delete(id)
  }
}

function filteredIds(op: PatchOperation['op'], filter: string): string[] {
  const ids = op === 'remove' ? valuesOf(filter) : undefined
  if (ids) return ids
  throw new ScimError(400, 'invalidPath', 'Of members, only those with "value eq" can be removed.')
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null
}

/** `[{"value": "id"}, ...]`, one of them alone, or nobody. */
export function memberIdsOf(value: unknown): string[] {
  const list = isNothing(value) ? [] : Array.isArray(value) ? value : [value]
  if (list.length > maxMembers) {
    throw new ScimError(413, undefined, `One request takes at most ${maxMembers} members.`)
  }
  return list.map((item) => {
    const id = isObject(item) ? item.value : item
    if (typeof id === 'string' && id !== '') return id
    throw new ScimError(400, 'invalidValue', 'members: each needs a value, the id of a user.')
  })
}

/** An older style of one provider wraps single values: [{"value": "x"}]. */
function single(value: unknown): unknown {
  const [only] = Array.isArray(value) && value.length === 1 ? value : []
  return isObject(only) ? only.value : value
}

export function nameOf(value: unknown): string {
  if (typeof value !== 'string' || value.trim() === '') {
    throw new ScimError(400, 'invalidValue', 'displayName must be a text that is not empty.')
  }
  return withinLength('displayName', value)
}

export function externalIdOf(value: unknown): string | null {
  if (isNothing(value) || value === '') return null
  if (typeof value === 'string') return withinLength('externalId', value)
  throw new ScimError(400, 'invalidValue', 'externalId must be a text.')
}

function withinLength(name: string, text: string): string {
  if (text.length <= maxNameLength) return text
  throw new ScimError(400, 'invalidValue', `${name} is longer than ${maxNameLength} characters.`)
}
