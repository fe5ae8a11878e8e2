import { type JsonObject, numberOf, objectOf, objectsOf, textOf } from '../../lib/loose.ts'

/** Deeper than this only what a schema requires is made, so that recursive schemas come to an end. */
const roomyDepth = 4
const deepest = 32
const longestList = 100
const longestText = 10_000
/** A schema may branch into itself without end. */
const mostSteps = 20_000

/** One walk through a schema: the text to place, until it is placed. */
interface Walk {
  root: JsonObject
  text: string
  placed: boolean
  steps: number
}

/** A value that the schema accepts, always the same one: the text goes into the first free string. */
export function sampleOf(schema: JsonObject, text: string): unknown {
  return sampled(schema, { root: schema, text, placed: false, steps: 0 }, 'value', 0)
}

function sampled(given: unknown, walk: Walk, name: string, depth: number): unknown {
  const schema = resolved(given, walk, depth)
  if (depth > deepest || ++walk.steps > mostSteps) return null
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0]
  const branch = branchOf(schema, depth)
  if (branch) return sampled(branch, walk, name, depth + 1)
  return makers[typeOf(schema)](schema, walk, name, depth)
}

type SchemaType = 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'null'
type Maker = (schema: JsonObject, walk: Walk, name: string, depth: number) => unknown

const makers: Record<SchemaType, Maker> = {
  object: objectValue,
  array: arrayValue,
  string: stringValue,
  number: (schema) => numberValue(schema, false),
  integer: (schema) => numberValue(schema, true),
  boolean: () => true,
  null: () => null,
}

function typeOf(schema: JsonObject): SchemaType {
  const types = Array.isArray(schema.type) ? schema.type : [schema.type]
  const named = types.filter((type): type is SchemaType => typeof type === 'string' && type in makers)
  const useful = named.find((type) => type !== 'null') ?? named[0]
  if (useful) return useful
  if (objectOf(schema.properties)) return 'object'
  return schema.items || schema.prefixItems ? 'array' : 'string'
}

/** Follows `$ref` within the document and folds `allOf` in. */
function resolved(given: unknown, walk: Walk, depth: number): JsonObject {
  let schema = objectOf(given) ?? {}
  for (let hops = 0; hops < 16 && typeof schema.$ref === 'string'; hops++) {
    const { $ref, ...beside } = schema
    schema = { ...follow(walk.root, String($ref)), ...beside }
  }
  if (!Array.isArray(schema.allOf) || depth > deepest || ++walk.steps > mostSteps) return schema
  const { allOf, ...own } = schema
  return objectsOf(allOf)
    .map((part) => resolved(part, walk, depth + 1))
    .reduce(merged, own)
}

function merged(a: JsonObject, b: JsonObject): JsonObject {
  return {
    ...a,
    ...b,
    properties: { ...objectOf(a.properties), ...objectOf(b.properties) },
    required: [...namesOf(a.required), ...namesOf(b.required)],
  }
}

function follow(root: JsonObject, reference: string): JsonObject {
  if (!reference.startsWith('#')) return {}
  const names = reference.slice(1).split('/').slice(1)
  const found = names.reduce<unknown>(
    (value, name) => objectOf(value)?.[name.replaceAll('~1', '/').replaceAll('~0', '~')],
    root,
  )
  return objectOf(found) ?? {}
}

/** The first alternative that says something; deep down rather the one that says null. */
function branchOf(schema: JsonObject, depth: number): JsonObject | undefined {
  const branches = [...objectsOf(schema.anyOf), ...objectsOf(schema.oneOf)]
  const nothing = branches.find((branch) => branch.type === 'null')
  const branch = depth > roomyDepth && nothing ? nothing : branches.find((one) => one !== nothing)
  if (!branch || schema.type !== 'object') return branch ?? nothing
  const { anyOf: _anyOf, oneOf: _oneOf, ...own } = schema
  return merged(own, branch)
}

function objectValue(schema: JsonObject, walk: Walk, _name: string, depth: number): JsonObject {
  const properties = objectOf(schema.properties) ?? {}
  const required = namesOf(schema.required)
  const all = schema.required === undefined && depth <= roomyDepth
  const value: JsonObject = {}
  for (const [name, inner] of Object.entries(properties)) {
    const wanted = all || required.includes(name) || (depth === 0 && takesText(inner, walk))
    if (wanted) value[name] = sampled(inner, walk, name, depth + 1)
  }
  for (const name of required) if (!Object.hasOwn(value, name)) value[name] = `${name} from the sandbox`
  return value
}

/** A plain string that is still to get the text. */
function takesText(given: unknown, walk: Walk): boolean {
  const schema = resolved(given, walk, 0)
  return !walk.placed && isFree(schema) && !branchOf(schema, 0) && typeOf(schema) === 'string'
}

function isFree(schema: JsonObject): boolean {
  return schema.enum === undefined && schema.const === undefined && schema.format === undefined
}

function arrayValue(schema: JsonObject, walk: Walk, name: string, depth: number): unknown[] {
  const fixed = Array.isArray(schema.prefixItems) ? schema.prefixItems : []
  const least = numberOf(schema.minItems) ?? (depth > roomyDepth ? 0 : 1)
  const length = Math.min(least, numberOf(schema.maxItems) ?? longestList, longestList)
  return Array.from({ length: Math.max(length, fixed.length) }, (_, index) =>
    sampled(fixed[index] ?? schema.items, walk, name, depth + 1),
  )
}

const formats: Readonly<Record<string, string>> = {
  'date-time': '2026-01-01T00:00:00Z',
  date: '2026-01-01',
  time: '00:00:00Z',
  duration: 'PT1S',
  email: 'user@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
}

function stringValue(schema: JsonObject, walk: Walk, name: string): string {
  const formatted = formats[textOf(schema.format) ?? '']
  if (formatted !== undefined) return formatted
  const text = walk.placed ? `${name} from the sandbox` : walk.text
  walk.placed = true
  const least = Math.min(numberOf(schema.minLength) ?? 0, longestText)
  const most = numberOf(schema.maxLength) ?? Number.POSITIVE_INFINITY
  const padded = text.padEnd(least, '.')
  // Only what may be too long is taken apart.
  return padded.length > most ? [...padded.slice(0, 2 * most)].slice(0, most).join('') : padded
}

/** 1, or else a number within the limits. */
function numberValue(schema: JsonObject, whole: boolean): number {
  const step = numberOf(schema.multipleOf) ?? (whole ? 1 : 0)
  return step > 0 ? steppedNumber(schema, step) : freeNumber(schema)
}

function steppedNumber(schema: JsonObject, step: number): number {
  const above = numberOf(schema.exclusiveMinimum)
  const below = numberOf(schema.exclusiveMaximum)
  const least = Math.max(
    numberOf(schema.minimum) ?? -Infinity,
    above === undefined ? -Infinity : above + step,
  )
  const most = Math.min(numberOf(schema.maximum) ?? Infinity, below === undefined ? Infinity : below - step)
  const value = Math.max(Math.min(1, most), least)
  const up = Math.ceil(value / step) * step
  return up <= most ? up : Math.floor(value / step) * step
}

function freeNumber(schema: JsonObject): number {
  const [minimum, maximum] = [numberOf(schema.minimum), numberOf(schema.maximum)]
  const [above, below] = [numberOf(schema.exclusiveMinimum), numberOf(schema.exclusiveMaximum)]
  const low = Math.max(minimum ?? -Infinity, above ?? -Infinity)
  const high = Math.min(maximum ?? Infinity, below ?? Infinity)
  if (low < 1 && 1 < high) return 1
  if (Number.isFinite(low) && Number.isFinite(high)) return low + (high - low) / 2
  return Number.isFinite(low) ? low + 1 : high - 1
}

function namesOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []
}
