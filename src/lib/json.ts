import { JsonCounter } from './json-counter.ts'
import { countMembers, findDuplicateKey } from './json-duplicates.ts'
import { JsonError } from './json-error.ts'

/**
 * JSON.parse for text from outside: bounded depth, no key twice, and nothing that trips what comes after. `counter`
 * has seen the text already, where it was counted as it arrived.
 */
export function parseJson(text: string, counter = countJson(text)): unknown {
  const value = parseRaw(text)
  // The text test is only a filter: an escaped spelling of the key still needs the walk.
  if (text.includes('__proto__') || text.includes('\\u')) assertStorable(value)
  if (countMembers(value) !== counter.memberCount)
    throw new JsonError(`not allowed to have the key "${findDuplicateKey(text)?.slice(0, 200)}" twice`)
  return value
}

/** As `parseJson`, for what is passed on and not stored: a prompt may hold any character, and the last of two keys counts. */
export function parseLenientJson(text: string, maxContainers = Number.POSITIVE_INFINITY): unknown {
  assertContainerLimit(text, maxContainers)
  return parseCountedLenientJson(text)
}

/** As `parsePrompt`, for a text that was counted as it arrived. */
export function parseCountedLenientJson(text: string): unknown {
  const value = parseRaw(text)
  if (text.includes('__proto__') || text.includes('\\u005')) assertNoProtoKey(value)
  return value
}

/** A list of empty lists takes twenty times its length in memory, and cannot be parsed in several goes. */
export function assertContainerLimit(text: string, maxContainers: number): void {
  new JsonCounter(Number.POSITIVE_INFINITY, maxContainers).add(text)
}

function countJson(text: string): JsonCounter {
  const counter = new JsonCounter()
  counter.add(text)
  return counter
}

/** Only what was counted: a text that is too deep exhausts the stack. */
function parseRaw(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new JsonError('not valid JSON', { cause })
  }
}

/** A key that reaches the prototype, and text that a database would refuse or change. */
function assertStorable(value: unknown): void {
  if (typeof value === 'string' && (value.includes('\0') || !value.isWellFormed())) {
    throw new JsonError('not allowed to contain U+0000 or half a surrogate pair')
  }
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    if (key === '__proto__') throw new JsonError(protoKeyMessage)
    assertStorable(key)
    assertStorable(inner)
  }
}

const protoKeyMessage = 'not allowed to have a key "__proto__"'

function assertNoProtoKey(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const key in value) {
    if (key === '__proto__') throw new JsonError(protoKeyMessage)
    assertNoProtoKey((value as Record<string, unknown>)[key])
  }
}
