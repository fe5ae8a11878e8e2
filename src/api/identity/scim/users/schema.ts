import { Messages, Schemas, type Types } from 'scimmy'
import { enterpriseUrn, isObject, type Json, ScimError, type ScimType } from '../protocol.ts'

const patchUrn = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'

Schemas.User.definition.extend(Schemas.EnterpriseUser.definition)
// RFC 7643 only suggests the types: a user with another type must not be rejected.
for (const name of ['emails', 'phoneNumbers', 'ims', 'photos', 'addresses', 'roles', 'x509Certificates']) {
  Schemas.User.definition.attribute(`${name}.type`).config.canonicalValues = false
}

/** One step of a PATCH, always with a path; `op` is lower case. */
export interface PatchStep {
  op: 'add' | 'remove' | 'replace'
  path: string
  value?: unknown
}

/** RFC 7643, 3.1, and the list of schemas. */
const commonAttributes = new Set(['schemas', 'id', 'externalid', 'meta'])

/** Maximum values of an attribute, more than any real one has. */
const maxValues = 100

/** Validates the attributes of the schema and drops all others, and groups. */
export function parseUser(body: Json): Json {
  const attributes = Object.fromEntries(
    Object.entries(body).filter(([name]) => name.toLowerCase() !== 'groups'),
  )
  return toPlainJson(withScimErrors(() => new Schemas.User(attributes, 'in')))
}

/**
 * Runs before the library, whose work grows faster than the list. A list that is already longer may stay, so
 * that every user can still be changed, and above all deactivated.
 */
export function rejectLongList(name: string, value: unknown, before?: unknown): void {
  const max = Math.max(maxValues, Array.isArray(before) ? before.length : 0)
  if (!Array.isArray(value) || value.length <= max) return
  throw new ScimError(400, 'invalidValue', `${name.slice(0, 100)} has more than ${maxValues} values.`)
}

/** Applies one step. The library gets only the attribute concerned, because it validates everything it gets. */
export async function patchAttribute(user: Json, step: PatchStep): Promise<Json> {
  const name = step.path.startsWith(enterpriseUrn) ? enterpriseUrn : (step.path.split(/[.[]/)[0] ?? '')
  const { schemas, userName, [name]: value, ...rest } = user
  const { [name]: changed, ...required } = await patchPart({ schemas, userName, [name]: value }, step)
  return { ...rest, ...required, ...(changed !== undefined && { [name]: changed }) }
}

async function patchPart(part: Json, step: PatchStep): Promise<Json> {
  const before = withScimErrors(() => new Schemas.User(part, 'both'))
  try {
    const patch = new Messages.PatchOp({ schemas: [patchUrn], Operations: [step] })
    // The library returns nothing if nothing changed.
    return toPlainJson((await patch.apply(before)) ?? before)
  } catch (error) {
    throw toScimError(error)
  }
}

/** The attribute path as the schema spells it; undefined if the schema does not have it. */
export function findSpelling(name: string, sub?: string): string | undefined {
  return findSpellingIn(Schemas.User, name, sub)
}

export function findEnterpriseSpelling(name: string, sub?: string): string | undefined {
  // The library adds attributes to every schema that only whole resources have.
  if (commonAttributes.has(name.toLowerCase())) return undefined
  return findSpellingIn(Schemas.EnterpriseUser, name, sub)
}

function findSpellingIn(schema: typeof Types.Schema, name: string, sub?: string): string | undefined {
  const attribute = schema.definition.attributes.find((known) => isSameName(known, name))
  if (!attribute) return undefined
  if (sub === undefined) return attribute.name
  const part = attribute.subAttributes?.find((known) => isSameName(known, sub))
  return part && `${attribute.name}.${part.name}`
}

/** Whether the attribute (in the schema's spelling) holds lists or objects. */
export function isCompound(path: string): boolean {
  const { type, config } = Schemas.User.definition.attribute(path)
  return type === 'complex' || config.multiValued === true
}

function isSameName(known: { name: string }, name: string): boolean {
  return known.name.toLowerCase() === name.toLowerCase()
}

/** The library's objects have setters and computed values; plain JSON is stored. */
function toPlainJson(user: unknown): Json {
  const value: unknown = JSON.parse(JSON.stringify(user))
  return isObject(value) ? value : {}
}

function withScimErrors<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw toScimError(error)
  }
}

/** The prefixes of the library's own messages; it also passes on messages of the JavaScript engine. */
const libraryMessagePattern =
  /^((Complex |Required )?attribute '|Invalid (attribute )?path '|Filter '|The request body )/i

/** Use only around calls of the library: its errors are about the request. */
function toScimError(error: unknown): ScimError {
  const { scimType, message } = error as { scimType?: ScimType; message: string }
  const detail = libraryMessagePattern.test(message)
    ? message
    : 'A value does not match the type of its attribute.'
  return new ScimError(400, scimType ?? 'invalidValue', detail)
}
