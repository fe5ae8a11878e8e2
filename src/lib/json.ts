import { endOfString } from './json-splice.ts'

/** Deeper than any real request; far below what exhausts the stack of a recursive reader. */
const maxDepth = 128

export class JsonError extends Error {}

/** JSON.parse for text from outside: bounded depth, and nothing that trips what comes after. */
export function parseJson(text: string): unknown {
  const value = parseBounded(text)
  // The text test is only a filter: an escaped spelling of the key still needs the walk.
  if (text.includes('__proto__') || text.includes('\\u')) refuseTraps(value)
  return value
}

/** As `parseJson`, for what is passed on and not stored: a prompt may hold any character. */
export function parsePrompt(text: string, mostContainers = Number.POSITIVE_INFINITY): unknown {
  const value = parseBounded(text, mostContainers)
  if (text.includes('__proto__') || /\\u005f/i.test(text)) refuseProto(value)
  return value
}

function parseBounded(text: string, mostContainers = Number.POSITIVE_INFINITY): unknown {
  refuseStructure(text, mostContainers)
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new JsonError('not valid JSON', { cause })
  }
}

/**
 * Counts brackets outside strings; text that is not JSON is left for the parser to refuse. A list of empty lists
 * takes twenty times its length in memory, and cannot be parsed in several goes: so the number counts too.
 */
export function refuseStructure(text: string, mostContainers: number): void {
  let [depth, containers] = [0, 0]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at + 1)
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > maxDepth) throw new JsonError(`nested deeper than ${maxDepth} levels`)
      if (++containers > mostContainers) throw new JsonError(`more than ${mostContainers} objects and lists`)
    } else if (code === 0x7d || code === 0x5d) depth--
  }
}

const quote = 0x22

/** A key that reaches the prototype, and text that a database would refuse or change. */
function refuseTraps(value: unknown): void {
  if (typeof value === 'string' && (value.includes('\0') || !value.isWellFormed())) {
    throw new JsonError('not allowed to contain U+0000 or half a surrogate pair')
  }
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    if (key === '__proto__') throw new JsonError(protoProblem)
    refuseTraps(key)
    refuseTraps(inner)
  }
}

const protoProblem = 'not allowed to have a key "__proto__"'

function refuseProto(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    if (key === '__proto__') throw new JsonError(protoProblem)
    refuseProto(inner)
  }
}
