import { randomUUID } from 'node:crypto'
import { parsePrompt } from './json.ts'
import { JsonError } from './json-error.ts'
import { endOfString } from './json-string.ts'

/** Strings from this length on are not copied when JSON is read, and are written piece by piece. */
const longString = 64 * 1024

/**
 * As `parsePrompt`, for a text that may be very long. Its long strings become views of the text: they are not
 * copied, and not searched by whatever looks at the rest of the text.
 */
export function parseLong(text: string, mostContainers: number): unknown {
  if (text.length < 2 * longString) return parsePrompt(text, mostContainers)
  // Stands for a long string; drawn by lot, so that no text that is received can contain it.
  const mark = `\0${randomUUID()}:`
  const { skeleton, strings } = cutStrings(text, mark)
  const value = parsePrompt(skeleton, mostContainers)
  return strings.length === 0 ? value : restored(value, { strings, mark })
}

interface CutOut {
  strings: readonly string[]
  mark: string
}

function cutStrings(text: string, mark: string): { skeleton: string; strings: string[] } {
  const pieces: string[] = []
  const strings: string[] = []
  let kept = 0
  for (let start = text.indexOf('"'); start !== -1; ) {
    const end = endOfString(text, start + 1)
    if (end - start > longString) {
      pieces.push(text.slice(kept, start), JSON.stringify(mark + strings.length))
      strings.push(text.slice(start, end + 1))
      kept = end + 1
    }
    start = text.indexOf('"', end + 1)
  }
  return { skeleton: strings.length === 0 ? text : pieces.join('') + text.slice(kept), strings }
}

/** In place. */
function restored(value: unknown, cut: CutOut): unknown {
  const { mark } = cut
  if (typeof value === 'string') return value.startsWith(mark) ? unquoted(value, cut) : value
  if (typeof value !== 'object' || value === null) return value
  const holder = value as Record<string, unknown>
  for (const key of Object.keys(holder)) {
    if (key.startsWith(mark)) throw new JsonError('the name of a member is too long')
    const inner = holder[key]
    if (typeof inner === 'string' ? inner.startsWith(mark) : typeof inner === 'object') {
      holder[key] = restored(inner, cut)
    }
  }
  return value
}

function unquoted(marked: string, { strings, mark }: CutOut): string {
  const quoted = strings[Number(marked.slice(mark.length))] ?? '""'
  // A character that should have been escaped is let pass: looking for one would take longer than all the rest.
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return JSON.parse(quoted)
  } catch (cause) {
    throw new JsonError('not valid JSON', { cause })
  }
}

/** How long a value is as JSON, about: escapes are not counted. */
export function jsonLength(value: unknown): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 8
  let length = 2
  for (const name of Object.keys(value)) {
    const inner = (value as Record<string, unknown>)[name]
    if (inner !== undefined) length += name.length + 4 + jsonLength(inner)
  }
  return length
}

/** A JSON text in pieces: what has long strings is never one text as a whole. */
export function* jsonPieces(value: unknown): Generator<string> {
  if (typeof value === 'string' && value.length > longString) yield* stringPieces(value)
  else if (typeof value !== 'object' || value === null || jsonLength(value) < longString) {
    yield JSON.stringify(value) ?? 'null'
  } else if (Array.isArray(value)) {
    for (const [at, inner] of value.entries()) {
      yield at === 0 ? '[' : ','
      yield* jsonPieces(inner)
    }
    yield value.length === 0 ? '[]' : ']'
  } else yield* memberPieces(value)
}

function* memberPieces(value: object): Generator<string> {
  let before = '{'
  for (const [name, inner] of Object.entries(value)) {
    if (inner === undefined) continue
    yield `${before}${JSON.stringify(name)}:`
    yield* jsonPieces(inner)
    before = ','
  }
  yield before === '{' ? '{}' : '}'
}

function* stringPieces(text: string): Generator<string> {
  yield '"'
  for (let at = 0; at < text.length; ) {
    // Not between the halves of a surrogate pair.
    const isSplit = (text.charCodeAt(at + longString - 1) & 0xfc00) === 0xd800
    const end = at + longString + (isSplit ? 1 : 0)
    yield JSON.stringify(text.slice(at, end)).slice(1, -1)
    at = end
  }
  yield '"'
}
