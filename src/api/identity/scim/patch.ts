import { isObject, type Json, ScimError } from './protocol.ts'

export interface PatchOperation {
  op: 'add' | 'remove' | 'replace'
  path: string | undefined
  value: unknown
}

export interface PathOperation extends PatchOperation {
  path: string
  /** The path is an attribute name from a value object, not a path the client sent. */
  isImplied: boolean
}

/** Read-only attributes that some clients send with their changes. */
const readOnlyAttributes = new Set(['id', 'schemas', 'meta', 'groups'])

/**
 * The operations of a PATCH, each with a path: an operation without one, whose value is an object of attributes,
 * becomes one operation per attribute.
 */
export function parseOperations(body: Json, max: number): PathOperation[] {
  const list = fieldOf(body, 'operations')
  if (!Array.isArray(list) || list.length === 0) {
    throw new ScimError(400, 'invalidSyntax', 'Operations must be a list of at least one operation.')
  }
  validateCount(list, max)
  return validateCount(
    list.flatMap((item) => expandPaths(parseOperation(item))),
    max,
  )
}

export function validateCount<T>(operations: T[], max: number): T[] {
  if (operations.length <= max) return operations
  throw new ScimError(413, undefined, `Operations change more than ${max} attributes.`)
}

function parseOperation(item: unknown): PatchOperation {
  if (!isObject(item)) throw new ScimError(400, 'invalidSyntax', 'An operation must be an object.')
  const name = fieldOf(item, 'op')
  const op = typeof name === 'string' ? name.toLowerCase() : undefined
  if (op !== 'add' && op !== 'remove' && op !== 'replace') {
    throw new ScimError(400, 'invalidSyntax', 'op must be add, remove or replace.')
  }
  const path = fieldOf(item, 'path') ?? undefined
  if (path !== undefined && (typeof path !== 'string' || path.length > maxPathLength)) {
    throw new ScimError(400, 'invalidPath', 'path must be the path of an attribute.')
  }
  return { op, path: path?.trim() || undefined, value: fieldOf(item, 'value') }
}

const maxPathLength = 512

function expandPaths(operation: PatchOperation): PathOperation[] {
  const { op, path, value } = operation
  if (path !== undefined) return [{ op, path, value, isImplied: false }]
  if (op === 'remove') throw new ScimError(400, 'noTarget', 'remove needs a path.')
  if (!isObject(value)) {
    throw new ScimError(400, 'invalidValue', 'Without a path, value must be an object of attributes.')
  }
  return Object.entries(value)
    .filter(([name]) => !readOnlyAttributes.has(name.toLowerCase()))
    .map(([name, inner]) => ({ op, path: name, value: inner, isImplied: true }))
}

/** Attribute names are case-insensitive: RFC 7643, 2.1. */
export function fieldOf(object: Json, name: string): unknown {
  const key = Object.keys(object).find((known) => known.toLowerCase() === name)
  return key === undefined ? undefined : object[key]
}

export interface PathParts {
  urn: string
  name: string
  filter: string | undefined
  sub: string | undefined
}

const pathPattern = /^(urn:[^[\]]+:)?([a-z$][\w$-]*)(?:\[(.*)\])?(?:\.([a-z$][\w$-]*))?$/is

/** The parts of `emails[type eq "work"].value`. */
export function parsePath(path: string): PathParts {
  const [, urn = '', name, filter, sub] = pathPattern.exec(path) ?? []
  if (name === undefined) throw invalidPathError(path)
  return { urn, name, filter, sub }
}

export function invalidPathError(path: string): ScimError {
  return new ScimError(400, 'invalidPath', `There is no attribute at the path ${path.slice(0, 100)}.`)
}
