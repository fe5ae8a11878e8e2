import { isSingleLine } from '../../../../platform/validation/name-schema.ts'
import { parseValueFilter } from '../filter.ts'
import {
  invalidPathError,
  type PatchOperation,
  type PathOperation,
  parseOperations,
  parsePath,
} from '../patch.ts'
import { isObject, type Json, ScimError } from '../protocol.ts'

/** The requested changes to a group's members, as SCIM user ids. */
export interface MemberChange {
  /** Members who are not in `add` are removed. */
  reset: boolean
  add: Set<string>
  remove: Set<string>
}

export interface GroupChange {
  displayName?: string
  externalId?: string | null
  members: MemberChange
}

/** The maximum number of members one request changes; clients split longer lists. */
const maxMembers = 10_000
const maxNameLength = 256

/** Merges all operations, so that a thousand with one member each cost no more than one with a thousand. */
export function parseGroupPatch(body: Json): GroupChange {
  const change: GroupChange = { members: { reset: false, add: new Set(), remove: new Set() } }
  for (const operation of parseOperations(body, maxMembers)) applyOperation(change, operation)
  return change
}

function applyOperation(change: GroupChange, operation: PathOperation): void {
  const { urn, name, filter, sub } = parsePath(operation.path)
  if (urn !== '' && urn.toLowerCase() !== 'urn:ietf:params:scim:schemas:core:2.0:group:') {
    throw invalidPathError(operation.path)
  }
  const attribute = sub === undefined ? name.toLowerCase() : ''
  if (attribute === 'members') applyMemberOperation(change.members, operation, filter)
  else if (filter !== undefined) throw invalidPathError(operation.path)
  else if (attribute === 'displayname') change.displayName = parseDisplayName(unwrapSingle(operation.value))
  else if (attribute === 'externalid') {
    change.externalId = operation.op === 'remove' ? null : parseExternalId(unwrapSingle(operation.value))
  } else throw invalidPathError(operation.path)
}

function applyMemberOperation(
  members: MemberChange,
  operation: PatchOperation,
  filter: string | undefined,
): void {
  const { op, value } = operation
  const affectsAll = op === 'replace' || (op === 'remove' && filter === undefined && isNullish(value))
  const ids = filter === undefined ? parseMemberIds(value) : parseFilteredIds(op, filter)
  if (affectsAll) {
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

function parseFilteredIds(op: PatchOperation['op'], filter: string): string[] {
  const ids = op === 'remove' ? parseValueFilter(filter) : undefined
  if (ids) return ids
  throw new ScimError(400, 'invalidPath', 'Members can be removed only by "value eq".')
}

function isNullish(value: unknown): boolean {
  return value === undefined || value === null
}

/** `[{"value": "id"}, ...]`, a single one, or no value. */
export function parseMemberIds(value: unknown): string[] {
  const list = isNullish(value) ? [] : Array.isArray(value) ? value : [value]
  if (list.length > maxMembers) {
    throw new ScimError(413, undefined, `A request can change at most ${maxMembers} members.`)
  }
  return list.map((item) => {
    const id = isObject(item) ? item.value : item
    if (typeof id === 'string' && id !== '') return id
    throw new ScimError(400, 'invalidValue', 'members: each needs a value, the id of a user.')
  })
}

/** One provider wraps single values in its older requests: [{"value": "x"}]. */
function unwrapSingle(value: unknown): unknown {
  const [only] = Array.isArray(value) && value.length === 1 ? value : []
  return isObject(only) ? only.value : value
}

export function parseDisplayName(value: unknown): string {
  if (typeof value !== 'string' || value.trim() === '') {
    throw new ScimError(400, 'invalidValue', 'displayName must be a non-empty string.')
  }
  if (!isSingleLine(value))
    throw new ScimError(
      400,
      'invalidValue',
      'displayName must not contain control characters or line breaks.',
    )
  return validateLength('displayName', value)
}

export function parseExternalId(value: unknown): string | null {
  if (isNullish(value) || value === '') return null
  if (typeof value === 'string') return validateLength('externalId', value)
  throw new ScimError(400, 'invalidValue', 'externalId must be a string.')
}

function validateLength(name: string, text: string): string {
  if (text.length <= maxNameLength) return text
  throw new ScimError(400, 'invalidValue', `${name} is longer than ${maxNameLength} characters.`)
}
