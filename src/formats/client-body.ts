import { type JsonObject, omitUndefined } from '../platform/json/json-values.ts'

/** A body of another format, as one of this API. */
export interface TranslatedBody {
  body: JsonObject
  /** Fields of the client's body without a counterpart, by their names in `x-headgate-dropped`. */
  unknown: string[]
}

/** Fields that a body of any format may have. */
const gatewayFields: ReadonlySet<string> = new Set([
  ...['model', 'models', 'provider', 'plugins', 'user', 'session_id', 'trace'],
])

/** The gateway's fields of a body with `fields` instead of the others, which are unknown unless they are in `known`. */
export function translateBody(
  body: JsonObject,
  known: Readonly<Record<string, unknown>>,
  fields: JsonObject,
): TranslatedBody {
  const translated: JsonObject = {}
  const unknown: string[] = []
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined || value === null) continue
    if (gatewayFields.has(name)) translated[name] = value
    else if (!Object.hasOwn(known, name)) unknown.push(name)
  }
  return { body: { ...translated, ...omitUndefined(fields) }, unknown }
}
