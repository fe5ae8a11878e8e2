import { randomUUID } from 'node:crypto'
import { sliceText } from '../text/slice-text.ts'
import { runInSlices, yieldToEventLoop } from '../time/time-slicer.ts'
import { assertNoProto, parseCountedLenientJson, parseLenientJson, parseRaw } from './json.ts'
import { assertJsonBoundsInSlices } from './json-bounds.ts'
import { JsonError } from './json-error.ts'
import { findStringEnd, isEscaped } from './json-string.ts'

/** Longer strings are not copied when JSON is parsed, and are serialized in chunks. */
const minLongStringLength = 64 * 1024

/** A shorter text is parsed at once. */
const longTextLength = 2 * minLongStringLength

/**
 * Parses as `parseLenientJson` does, for a text that may be very long. Long strings become slices of the text: they are
 * neither copied nor scanned by the other checks. Other requests get their turns between the steps.
 */
export async function parseLongJson(
  text: string,
  maxValues: number,
  rewrite: TextRewrite = keepText,
): Promise<unknown> {
  if (text.length < longTextLength) return parseLenientJson(rewrite(text, text), maxValues)
  await assertJsonBoundsInSlices(text, maxValues)
  // Placeholder for a long string; random, so that no received text can contain it.
  const marker = `\0${randomUUID()}:`
  const { skeleton, strings } = await runInSlices(extractLongStrings(text, marker))
  const rewritten = rewrite(text, skeleton)
  if (rewritten !== text) return parseLongJson(rewritten, maxValues)
  const value = await parseSkeleton(skeleton)
  if (strings.length === 0) return value
  return restoreLongStrings(value, { strings: await runInSlices(decodeStrings(strings)), marker })
}

/** Parses a text that was counted as it arrived, as `parseLongJson` does. Rejects control characters in strings. */
export async function parseCountedLongJson(text: string): Promise<unknown> {
  const marker = `\0${randomUUID()}:`
  const { skeleton, strings } = await runInSlices(extractLongStrings(text, marker))
  const value = await parseSkeleton(skeleton)
  if (strings.length === 0) return value
  await runInSlices(assertNoControls(strings))
  return restoreLongStrings(value, { strings: await runInSlices(decodeStrings(strings)), marker })
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what JSON does not allow.
const controlPattern = /[\x00-\x1f]/

function* assertNoControls(strings: readonly string[]): Generator<void> {
  for (const text of strings) {
    for (let at = 0; at < text.length; at += decodedChunkLength) {
      if (controlPattern.test(text.slice(at, at + decodedChunkLength))) throw new JsonError('not valid JSON')
      yield
    }
  }
}

/** Parses a text whose values were counted. */
export async function parseSkeleton(skeleton: string): Promise<unknown> {
  if (skeleton.length < longSkeletonLength) return parseCountedLenientJson(skeleton)
  await yieldToEventLoop()
  const value = parseRaw(skeleton)
  await yieldToEventLoop()
  assertNoProto(skeleton, value)
  return value
}

/** A text that may take tens of milliseconds to parse has a turn of the event loop to itself. */
const longSkeletonLength = 512 * 1024

/** Changes a text before it is parsed, if the text without its long strings (`skeleton`) shows that it must. */
export type TextRewrite = (text: string, skeleton: string) => string

export const keepText: TextRewrite = (text) => text

interface LongStrings {
  /** Decoded. */
  strings: readonly string[]
  marker: string
}

/** Each step is at most a thousand strings. */
function* extractLongStrings(
  text: string,
  marker: string,
): Generator<void, { skeleton: string; strings: string[] }> {
  const parts: string[] = []
  const strings: string[] = []
  let copiedTo = 0
  let found = 0
  for (let start = text.indexOf('"'); start !== -1; ) {
    if (++found % 1000 === 0) yield
    const end = findStringEnd(text, start + 1)
    if (end - start > minLongStringLength) {
      parts.push(text.slice(copiedTo, start), JSON.stringify(marker + strings.length))
      strings.push(text.slice(start, end + 1))
      copiedTo = end + 1
    }
    start = text.indexOf('"', end + 1)
  }
  return { skeleton: strings.length === 0 ? text : parts.join('') + text.slice(copiedTo), strings }
}

/** Replaces the markers of long strings in place. */
function restoreLongStrings(value: unknown, extracted: LongStrings): unknown {
  const { marker } = extracted
  if (typeof value === 'string') return value.startsWith(marker) ? findLongString(value, extracted) : value
  if (typeof value !== 'object' || value === null) return value
  const holder = value as Record<string, unknown>
  for (const key in holder) {
    if (key.startsWith(marker)) throw new JsonError('not allowed to have a key this long')
    const inner = holder[key]
    if (typeof inner === 'string' ? inner.startsWith(marker) : typeof inner === 'object') {
      holder[key] = restoreLongStrings(inner, extracted)
    }
  }
  return value
}

function findLongString(marked: string, { strings, marker }: LongStrings): string {
  return strings[Number(marked.slice(marker.length))] ?? ''
}

/** Each step is a chunk of a string: to decode megabytes of escapes takes tens of milliseconds. */
function* decodeStrings(quoted: string[]): Generator<void, string[]> {
  const decoded: string[] = []
  for (const text of quoted) decoded.push(yield* decodeString(text))
  return decoded
}

function* decodeString(quoted: string): Generator<void, string> {
  // Unescaped control characters are accepted: finding them would take longer than everything else.
  // `indexOf` searches for a character three times as fast as `includes`.
  if (quoted.indexOf('\\') === -1) return quoted.slice(1, -1)
  const chunks: string[] = []
  for (let start = 1; start < quoted.length - 1; ) {
    const end = findChunkEnd(quoted, start)
    chunks.push(decodeChunk(quoted.slice(start, end)))
    start = end
    yield
  }
  return chunks.join('')
}

/** One without an escape stays a slice of the text. */
function decodeChunk(text: string): string {
  if (text.indexOf('\\') === -1) return text
  try {
    return JSON.parse(`"${text}"`)
  } catch (cause) {
    throw new JsonError('not valid JSON', { cause })
  }
}

/** Finds the end of a chunk, never within an escape. */
function findChunkEnd(quoted: string, start: number): number {
  const end = start + decodedChunkLength
  if (end >= quoted.length - 1) return quoted.length - 1
  const last = quoted.slice(end - longestEscape, end).lastIndexOf('\\')
  const backslash = end - longestEscape + last
  if (last === -1 || isEscaped(quoted, start, backslash)) return end
  return Math.min(
    quoted.length - 1,
    Math.max(end, backslash + (quoted.charAt(backslash + 1) === 'u' ? 6 : 2)),
  )
}

const decodedChunkLength = 256 * 1024
const longestEscape = 6

/** Approximate length of a value as JSON: escapes are not counted. What is beyond `max` is not read any further. */
export function estimateJsonLength(value: unknown, max = Number.POSITIVE_INFINITY): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 8
  let length = 2
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && length <= max; at++)
      length += 1 + estimateJsonLength(value[at], max - length)
    return length
  }
  for (const name in value) {
    const inner = (value as Record<string, unknown>)[name]
    if (inner !== undefined) length += name.length + 4 + estimateJsonLength(inner, max - length)
    if (length > max) break
  }
  return length
}

/** Serializes in chunks, so that a value with long strings is never one string. */
export function* encodeJsonChunks(value: unknown): Generator<string> {
  if (isShort(value)) yield JSON.stringify(value) ?? 'null'
  else if (typeof value === 'string') yield* encodeStringChunks(value)
  else if (Array.isArray(value)) yield* encodeItemChunks(value)
  else yield* encodeMemberChunks(value as object)
}

function isShort(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= minLongStringLength
  return estimateJsonLength(value, minLongStringLength) < minLongStringLength
}

/** Short items are joined: a chunk for each of a million would take longer than the items. */
function* encodeItemChunks(items: readonly unknown[]): Generator<string> {
  let joined = '['
  for (let at = 0; at < items.length; at++) {
    if (at > 0) joined += ','
    const item = items[at]
    if (isShort(item)) joined += JSON.stringify(item) ?? 'null'
    else {
      yield joined
      joined = ''
      yield* encodeJsonChunks(item)
    }
    if (joined.length < minLongStringLength) continue
    yield joined
    joined = ''
  }
  yield `${joined}]`
}

function* encodeMemberChunks(value: object): Generator<string> {
  let before = '{'
  for (const [name, inner] of Object.entries(value)) {
    if (inner === undefined) continue
    yield `${before}${JSON.stringify(name)}:`
    yield* encodeJsonChunks(inner)
    before = ','
  }
  yield before === '{' ? '{}' : '}'
}

function* encodeStringChunks(text: string): Generator<string> {
  yield '"'
  for (const slice of sliceText(text, minLongStringLength)) yield JSON.stringify(slice).slice(1, -1)
  yield '"'
}
