import { maxDepth, nestingError } from './json-counter.ts'
import { JsonError } from './json-error.ts'

export const protoKeyMessage = 'not allowed to have a key "__proto__"'

/** Whether a text has too few brackets to be nested deeper than is allowed. Deep nesting takes long to parse. */
export function isShallow(text: string): boolean {
  let brackets = 0
  for (const bracket of ['[', '{'])
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1))
      if (++brackets > maxDepth) return false
  return true
}

/**
 * The number of values in parsed JSON, counted as `JsonCounter` counts those of a text. Rejects deep nesting and the key
 * `__proto__`. A prompt has far fewer values than characters, so this is many times as fast.
 */
export function countJsonValues(root: unknown): number {
  let count = 1
  let containers = typeof root === 'object' && root !== null ? [root] : []
  for (let depth = 1; containers.length > 0; depth++) {
    if (depth > maxDepth) throw nestingError()
    const inner: object[] = []
    for (const container of containers) count += countEntries(container, inner)
    containers = inner
  }
  return count
}

/** Adds the containers among the entries to `inner`. An empty container counts as one. */
function countEntries(container: object, inner: object[]): number {
  if (Array.isArray(container)) {
    for (const entry of container) if (typeof entry === 'object' && entry !== null) inner.push(entry)
    return Math.max(1, container.length)
  }
  let count = 0
  for (const key in container) {
    if (key === '__proto__') throw new JsonError(protoKeyMessage)
    const entry = (container as Record<string, unknown>)[key]
    if (typeof entry === 'object' && entry !== null) inner.push(entry)
    count++
  }
  return Math.max(1, count)
}
