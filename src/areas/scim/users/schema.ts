import { Messages, Schemas } from 'scimmy'
import { isObject, type Json, ScimError, type ScimType } from '../protocol.ts'

export const enterpriseUrn = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
const patchUrn = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'

Schemas.User.definition.extend(Schemas.EnterpriseUser.definition)
// The types of RFC 7643 are suggestions; a provider with one more must not have its users refused.
for (const name of ['emails', 'phoneNumbers', 'ims', 'photos', 'addresses']) {
  Schemas.User.definition.attribute(`${name}.type`).config.canonicalValues = false
}

/** One step of a PATCH with a path; `op` is in lower case. */
export interface PatchStep {
  op: 'add' | 'remove' | 'replace'
  path: string
  value?: unknown
}

/** The attributes the schema knows, each of its type; others are dropped. */
export function shapedUser(body: Json): Json {
  return plain(checked(() => new Schemas.User(body, 'in')))
}

/** The user after one step. */
export async function patchedUser(user: Json, step: PatchStep): Promise<Json> {
  const before = checked(() => new Schemas.User(user, 'both'))
  try {
    const patch = new Messages.PatchOp({ schemas: [patchUrn], Operations: [step] })
    // Nothing comes back when nothing changed.
    return plain((await patch.apply(before)) ?? before)
  } catch (error) {
    throw refused(error)
  }
}

/** How the schema spells an attribute or part of one; undefined when it has none of that name. */
export function spellingOf(name: string, sub?: string): string | undefined {
  const attribute = Schemas.User.definition.attributes.find((known) => sameName(known, name))
  if (!attribute) return undefined
  if (sub === undefined) return attribute.name
  const part = attribute.subAttributes?.find((known) => sameName(known, sub))
  return part && `${attribute.name}.${part.name}`
}

/** Whether values of the attribute, spelt as the schema does, are lists or objects. */
export function isCompound(path: string): boolean {
  const { type, config } = Schemas.User.definition.attribute(path)
  return type === 'complex' || config.multiValued === true
}

function sameName(known: { name: string }, name: string): boolean {
  return known.name.toLowerCase() === name.toLowerCase()
}

/** The library's objects guard and compute; what is kept is their JSON. */
function plain(user: unknown): Json {
  const value: unknown = JSON.parse(JSON.stringify(user))
  return isObject(value) ? value : {}
}

function checked<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw refused(error)
  }
}

/** Only ever around calls of the library: what it throws is about the request. */
function refused(error: unknown): ScimError {
  const { scimType, message } = error as { scimType?: ScimType; message: string }
  return new ScimError(400, scimType ?? 'invalidValue', message)
}
