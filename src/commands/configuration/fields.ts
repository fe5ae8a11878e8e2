import { z } from 'zod'
import { loadOperations } from '../../api/all.ts'
import { getDestination } from '../../delivery/destinations/all.ts'
import type { Operation } from '../../http/operation.ts'
import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { Kind } from './kind.ts'
import { documentField } from './translate.ts'

/** The fields of a kind, from the operations of the API. */
export interface KindFields {
  /** All fields of a document, by the names that it has for them. */
  names: readonly string[]
  /** The body of the request that creates a record; null if nothing creates one. */
  create: z.ZodType | null
  update: z.ZodType | null
  /** Top-level fields of the API that the creation may have. */
  creatable: ReadonlySet<string>
  /** Those that an update may have. */
  updatable: ReadonlySet<string>
  parts: z.ZodObject
}

export type FieldsOf = (kind: Kind) => KindFields

export async function loadFields(): Promise<FieldsOf> {
  const operations = new Map((await loadOperations()).map((operation) => [operation.id, operation]))
  const known = new Map<Kind, KindFields>()
  return (kind) => {
    const fields = known.get(kind) ?? buildFields(kind, operations)
    known.set(kind, fields)
    return fields
  }
}

function buildFields(kind: Kind, operations: ReadonlyMap<string, Operation>): KindFields {
  const bodyOf = (id: string | null) => (id === null ? undefined : operations.get(id)?.body) ?? null
  const own = kind.fields && z.strictObject(kind.fields).partial()
  const create = own && !kind.isPermanent ? own : bodyOf(kind.create)
  const update = own ?? bodyOf(kind.update)
  const hidden = new Set([
    ...kind.omitted,
    ...(kind.nameField === null || kind.save ? [] : [kind.nameField]),
    ...(kind.place === 'organization' ? [] : ['workspace_id']),
  ])
  const apiFields = [...new Set([...listFields(create), ...listFields(update)])].filter(
    (field) => !hidden.has(field),
  )
  const parts = z.strictObject(Object.assign({}, ...kind.parts.map(({ fields }) => fields))).partial()
  return {
    names: [...apiFields.map((field) => documentField(kind, field)), ...Object.keys(parts.shape)],
    create,
    update,
    creatable: new Set(listFields(create)),
    updatable: new Set(listFields(update)),
    parts,
  }
}

/** The top-level fields of a schema; of all its alternatives. */
function listFields(schema: z.ZodType | null): string[] {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape)
  if (schema instanceof z.ZodUnion) return [...new Set((schema.options as z.ZodType[]).flatMap(listFields))]
  return []
}

/** The paths of the secrets of a document: those of a destination depend on its type. */
export function secretPathsOf(kind: Kind, spec: JsonObject): string[] {
  return kind.secrets.flatMap((path) => {
    if (path === 'config.*') {
      const type = asString(spec.type)
      return (type ? (getDestination(type)?.secrets ?? []) : []).map((name) => `config.${name}`)
    }
    if (!path.endsWith('.*')) return [path]
    const parent = path.slice(0, -2)
    return Object.keys(asObject(valueAt(spec, parent)) ?? {}).map((name) => `${parent}.${name}`)
  })
}

/** Names of headers may have dots, so the last part of a path is what is left. */
export function valueAt(value: unknown, path: string): unknown {
  const object = asObject(value)
  if (!object) return undefined
  if (Object.hasOwn(object, path)) return object[path]
  const dot = path.indexOf('.')
  return dot < 0 ? undefined : valueAt(object[path.slice(0, dot)], path.slice(dot + 1))
}

/** A copy with another value at a path; undefined removes it. */
export function withValueAt(object: JsonObject, path: string, value: unknown): JsonObject {
  const dot = path.indexOf('.')
  const child = dot < 0 ? undefined : asObject(object[path.slice(0, dot)])
  if (child) return { ...object, [path.slice(0, dot)]: withValueAt(child, path.slice(dot + 1), value) }
  if (value !== undefined) return { ...object, [path]: value }
  const { [path]: _removed, ...others } = object
  return others
}
