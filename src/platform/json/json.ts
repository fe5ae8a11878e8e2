import { assertJsonBounds } from './json-bounds.ts'
import { JsonCounter } from './json-counter.ts'
import { countMembers, findDuplicateKey } from './json-duplicates.ts'
import { JsonError } from './json-error.ts'
import { protoKeyMessage } from './json-size.ts'

/**
 * JSON.parse for untrusted text that is stored: bounded depth, no duplicate keys, only storable characters. `counter`
 * has counted the text already if it was counted as it arrived.
 */
export function parseJson(text: string, counter = countJson(text)): unknown {
  const value = parseRaw(text)
  // Only a filter: the key may also be spelled with escapes.
  if (text.includes('__proto__') || text.includes('\\u')) assertStorable(value)
  if (countMembers(value) !== counter.memberCount)
    throw new JsonError(`not allowed to have the duplicate key "${findDuplicateKey(text)?.slice(0, 200)}"`)
  return value
}

/** Values of JSON within a string: the arguments of a tool call, an error. */
export const maxInnerValues = 100_000

/**
 * Parses prompts, which are not stored: unlike `parseJson`, it allows any character, and the last duplicate key wins.
 */
export function parseLenientJson(text: string, maxValues = maxInnerValues): unknown {
  assertJsonBounds(text, maxValues)
  const value = parseRaw(text)
  assertNoProto(text, value)
  return value
}

/** Parses a text that was counted as it arrived, as `parseLenientJson` does. */
export function parseCountedLenientJson(text: string): unknown {
  const value = parseRaw(text)
  assertNoProto(text, value)
  return value
}

/** `value` is that of the text. */
export function assertNoProto(text: string, value: unknown): void {
  if (text.includes('__proto__') || text.includes('\\u005')) assertNoProtoKey(value)
}

/** JSON from outside within the bounds, with any key; undefined if it is none, or beyond the bounds. */
export function tryParseJson(text: string, maxValues = maxInnerValues): unknown {
  try {
    assertJsonBounds(text, maxValues)
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function countJson(text: string): JsonCounter {
  const counter = new JsonCounter()
  counter.add(text)
  return counter
}

/** Does not limit nesting, which overflows the stack of what reads the value. */
export function parseRaw(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new JsonError('not valid JSON', { cause })
  }
}

/** Rejects `__proto__`, and text that a database rejects or changes. */
function assertStorable(value: unknown): void {
  if (typeof value === 'string' && (value.includes('\0') || !value.isWellFormed())) {
    throw new JsonError('not allowed to contain U+0000 or an unpaired surrogate')
  }
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    if (key === '__proto__') throw new JsonError(protoKeyMessage)
    assertStorable(key)
    assertStorable(inner)
  }
}

function assertNoProtoKey(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const key in value) {
    if (key === '__proto__') throw new JsonError(protoKeyMessage)
    assertNoProtoKey((value as Record<string, unknown>)[key])
  }
}
