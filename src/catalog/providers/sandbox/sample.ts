import {
  asNumber,
  asObject,
  asObjects,
  asString,
  type JsonObject,
} from '../../../platform/json/json-values.ts'

/** The depth below which only required properties are generated, so that recursive schemas terminate. */
const maxOptionalDepth = 4
const maxDepth = 32
const maxListLength = 100
const maxTextLength = 10_000
/** Bounds the work for schemas that branch recursively. */
const maxSteps = 20_000

/** The state of one traversal: the text is inserted once. */
interface SchemaWalk {
  root: JsonObject
  text: string
  isPlaced: boolean
  steps: number
}

/** A deterministic value that matches the schema, with the text in the first unconstrained string. */
export function generateSample(schema: JsonObject, text: string): unknown {
  return generateValue(schema, { root: schema, text, isPlaced: false, steps: 0 }, 'value', 0)
}

function generateValue(input: unknown, walk: SchemaWalk, name: string, depth: number): unknown {
  const schema = resolveSchema(input, walk, depth)
  if (depth > maxDepth || ++walk.steps > maxSteps) return null
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0]
  const branch = chooseBranch(schema, depth)
  if (branch) return generateValue(branch, walk, name, depth + 1)
  return generators[inferType(schema)](schema, walk, name, depth)
}

type SchemaType = 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'null'
type ValueGenerator = (schema: JsonObject, walk: SchemaWalk, name: string, depth: number) => unknown

const generators: Record<SchemaType, ValueGenerator> = {
  object: generateObject,
  array: generateArray,
  string: generateString,
  number: (schema) => generateNumber(schema, false),
  integer: (schema) => generateNumber(schema, true),
  boolean: () => true,
  null: () => null,
}

function inferType(schema: JsonObject): SchemaType {
  const types = Array.isArray(schema.type) ? schema.type : [schema.type]
  const named = types.filter((type): type is SchemaType => typeof type === 'string' && type in generators)
  const useful = named.find((type) => type !== 'null') ?? named[0]
  if (useful) return useful
  if (asObject(schema.properties)) return 'object'
  return schema.items || schema.prefixItems ? 'array' : 'string'
}

/** Follows `$ref` within the document and merges `allOf`. */
function resolveSchema(input: unknown, walk: SchemaWalk, depth: number): JsonObject {
  let schema = asObject(input) ?? {}
  for (let hops = 0; hops < 16 && typeof schema.$ref === 'string'; hops++) {
    const { $ref, ...siblings } = schema
    schema = { ...followReference(walk.root, String($ref)), ...siblings }
  }
  if (!Array.isArray(schema.allOf) || depth > maxDepth || ++walk.steps > maxSteps) return schema
  const { allOf, ...own } = schema
  return asObjects(allOf)
    .map((part) => resolveSchema(part, walk, depth + 1))
    .reduce(mergeSchemas, own)
}

function mergeSchemas(a: JsonObject, b: JsonObject): JsonObject {
  return {
    ...a,
    ...b,
    properties: { ...asObject(a.properties), ...asObject(b.properties) },
    required: [...stringsOf(a.required), ...stringsOf(b.required)],
  }
}

function followReference(root: JsonObject, reference: string): JsonObject {
  if (!reference.startsWith('#')) return {}
  const names = reference.slice(1).split('/').slice(1)
  const target = names.reduce<unknown>(
    (value, name) => asObject(value)?.[name.replaceAll('~1', '/').replaceAll('~0', '~')],
    root,
  )
  return asObject(target) ?? {}
}

/** The first alternative that is not null; at greater depth, null if it is allowed. */
function chooseBranch(schema: JsonObject, depth: number): JsonObject | undefined {
  const branches = [...asObjects(schema.anyOf), ...asObjects(schema.oneOf)]
  const nullBranch = branches.find((branch) => branch.type === 'null')
  const branch =
    depth > maxOptionalDepth && nullBranch ? nullBranch : branches.find((one) => one !== nullBranch)
  if (!branch || schema.type !== 'object') return branch ?? nullBranch
  const { anyOf: _anyOf, oneOf: _oneOf, ...own } = schema
  return mergeSchemas(own, branch)
}

function generateObject(schema: JsonObject, walk: SchemaWalk, _name: string, depth: number): JsonObject {
  const properties = asObject(schema.properties) ?? {}
  const required = stringsOf(schema.required)
  const includesAll = schema.required === undefined && depth <= maxOptionalDepth
  const value: JsonObject = {}
  for (const [name, inner] of Object.entries(properties)) {
    const isIncluded = includesAll || required.includes(name) || (depth === 0 && canTakeText(inner, walk))
    if (isIncluded) value[name] = generateValue(inner, walk, name, depth + 1)
  }
  for (const name of required) if (!Object.hasOwn(value, name)) value[name] = `${name} from the sandbox`
  return value
}

/** Whether the text can be inserted here. */
function canTakeText(input: unknown, walk: SchemaWalk): boolean {
  const schema = resolveSchema(input, walk, 0)
  return !walk.isPlaced && isFree(schema) && !chooseBranch(schema, 0) && inferType(schema) === 'string'
}

function isFree(schema: JsonObject): boolean {
  return schema.enum === undefined && schema.const === undefined && schema.format === undefined
}

function generateArray(schema: JsonObject, walk: SchemaWalk, name: string, depth: number): unknown[] {
  const fixed = Array.isArray(schema.prefixItems) ? schema.prefixItems : []
  const min = asNumber(schema.minItems) ?? (depth > maxOptionalDepth ? 0 : 1)
  const length = Math.min(min, asNumber(schema.maxItems) ?? maxListLength, maxListLength)
  return Array.from({ length: Math.max(length, fixed.length) }, (_, index) =>
    generateValue(fixed[index] ?? schema.items, walk, name, depth + 1),
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

function generateString(schema: JsonObject, walk: SchemaWalk, name: string): string {
  const formatted = formats[asString(schema.format) ?? '']
  if (formatted !== undefined) return formatted
  const text = walk.isPlaced ? `${name} from the sandbox` : walk.text
  walk.isPlaced = true
  const min = Math.min(asNumber(schema.minLength) ?? 0, maxTextLength)
  const max = asNumber(schema.maxLength) ?? Number.POSITIVE_INFINITY
  const padded = text.padEnd(min, '.')
  // Only texts that may be too long are split into characters.
  return padded.length > max ? [...padded.slice(0, 2 * max)].slice(0, max).join('') : padded
}

/** 1, or a number within the limits of the schema. */
function generateNumber(schema: JsonObject, isInteger: boolean): number {
  const step = asNumber(schema.multipleOf) ?? (isInteger ? 1 : 0)
  return step > 0 ? generateMultiple(schema, step) : generateFreeNumber(schema)
}

function generateMultiple(schema: JsonObject, step: number): number {
  const above = asNumber(schema.exclusiveMinimum)
  const below = asNumber(schema.exclusiveMaximum)
  const min = Math.max(asNumber(schema.minimum) ?? -Infinity, above === undefined ? -Infinity : above + step)
  const max = Math.min(asNumber(schema.maximum) ?? Infinity, below === undefined ? Infinity : below - step)
  const value = Math.max(Math.min(1, max), min)
  const up = Math.ceil(value / step) * step
  return up <= max ? up : Math.floor(value / step) * step
}

function generateFreeNumber(schema: JsonObject): number {
  const [minimum, maximum] = [asNumber(schema.minimum), asNumber(schema.maximum)]
  const [above, below] = [asNumber(schema.exclusiveMinimum), asNumber(schema.exclusiveMaximum)]
  const low = Math.max(minimum ?? -Infinity, above ?? -Infinity)
  const high = Math.min(maximum ?? Infinity, below ?? Infinity)
  if (low < 1 && 1 < high) return 1
  if (Number.isFinite(low) && Number.isFinite(high)) return low + (high - low) / 2
  return Number.isFinite(low) ? low + 1 : high - 1
}

function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []
}
