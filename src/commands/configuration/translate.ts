import { asObject, type JsonObject } from '../../platform/json/json-values.ts'
import type { Kind, Reference } from './kind.ts'

type MapName = (reference: Reference, name: string, path: (string | number)[]) => string

/** Replaces the names in a document with ids, under the names of the API. */
export function toApiFields(kind: Kind, spec: JsonObject, toId: MapName): JsonObject {
  return kind.references.reduce(
    (fields, reference) =>
      mapReference(fields, reference, 'toApi', (name, path) => toId(reference, name, path)),
    spec,
  )
}

/** The reverse of `toApiFields`. */
export function fromApiFields(kind: Kind, fields: JsonObject, toName: MapName): JsonObject {
  return kind.references.reduce(
    (spec, reference) => mapReference(spec, reference, 'fromApi', (id, path) => toName(reference, id, path)),
    fields,
  )
}

type Direction = 'toApi' | 'fromApi'

function mapReference(
  fields: JsonObject,
  { field, apiField }: Reference,
  direction: Direction,
  map: (text: string, path: (string | number)[]) => string,
): JsonObject {
  const parents = field.split('.')
  const own = parents.pop() ?? ''
  const [from, to] = direction === 'toApi' ? [own, apiField] : [apiField, own]
  const visit = (value: unknown, segments: string[], path: (string | number)[]): unknown => {
    const object = asObject(value)
    if (!object) return value
    const [segment, ...rest] = segments
    if (segment === undefined) return rename(object, [from, to], path, map)
    const name = segment.replace('[]', '')
    const child = object[name]
    if (child === undefined) return object
    const isList = segment.endsWith('[]') && Array.isArray(child)
    const mapped = isList
      ? child.map((item, index) => visit(item, rest, [...path, name, index]))
      : visit(child, rest, [...path, name])
    return { ...object, [name]: mapped }
  }
  return visit(fields, parents, []) as JsonObject
}

function rename(
  object: JsonObject,
  [from, to]: readonly [string, string],
  path: (string | number)[],
  map: (text: string, path: (string | number)[]) => string,
): JsonObject {
  if (object[from] === undefined) return object
  const { [from]: value, ...others } = object
  const mapOne = (item: unknown, at: (string | number)[]) => (typeof item === 'string' ? map(item, at) : item)
  const mapped = Array.isArray(value)
    ? value.map((item, index) => mapOne(item, [...path, from, index]))
    : mapOne(value, [...path, from])
  return { ...others, [to]: mapped }
}

/** The name that a document has for a field of the API. */
export function documentField(kind: Kind, apiField: string): string {
  return (
    kind.references.find((one) => one.apiField === apiField && !one.field.includes('.'))?.field ?? apiField
  )
}

export function apiFieldOf(kind: Kind, field: string): string {
  return kind.references.find((one) => one.field === field)?.apiField ?? field
}
