import { SseError } from '../platform/http/sse.ts'
import type { JsonObject } from '../platform/json/json-values.ts'

/** Paths of a format's lists of parts: the names from the body to each list, through the entries of other lists. */
export type ListPaths = readonly (readonly string[])[]

/** The entries of all lists together; counting ends beyond `max`. */
export function countListEntries(body: unknown, paths: ListPaths, max: number): number {
  let count = 0
  for (const path of paths) {
    count += countEntries(body, path, 0)
    if (count > max) return count
  }
  return count
}

/** `at`: how many names of the path lead to the value. */
function countEntries(value: unknown, path: readonly string[], at: number): number {
  const name = path[at]
  if (!Array.isArray(value)) {
    const isObject = typeof value === 'object' && value !== null
    return name !== undefined && isObject ? countEntries((value as JsonObject)[name], path, at + 1) : 0
  }
  if (name === undefined) return value.length
  let count = 0
  for (const entry of value) if (typeof entry === 'object') count += countEntries(entry, path, at)
  return count
}

/** Entries of the lists of one event: far more than the parts of a real one. */
const maxEventEntries = 10_000

/** A shorter event has fewer entries. */
const longEventLength = 2 * maxEventEntries

/** Throws if the lists of an event are too long to be decoded in one turn of the event loop. */
export function limitEventLists(text: string, event: unknown, paths: ListPaths): void {
  if (text.length <= longEventLength || countListEntries(event, paths, maxEventEntries) <= maxEventEntries)
    return
  throw new SseError(`an event of the stream has more than ${maxEventEntries} parts`)
}
