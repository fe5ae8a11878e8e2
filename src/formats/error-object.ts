import { asObject, asString, isBlank, type JsonObject } from '../platform/json/json-values.ts'

/** The error of an event, which some vendors send as a text; undefined if the event has none. */
export function errorObjectOf({ error }: JsonObject): JsonObject | undefined {
  if (isBlank(error)) return undefined
  const message = asString(error)
  return message === undefined ? asObject(error) : { message }
}
