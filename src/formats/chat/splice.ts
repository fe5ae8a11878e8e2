import { hasErrorField } from '../../platform/json/error-field.ts'
import { asObject, asObjects, type JsonObject } from '../../platform/json/json-values.ts'
import { copyPart } from '../../platform/text/copy-text.ts'
import { countContentCharacters } from './normalize.ts'
import { parseChunk } from './reply-reader.ts'

/** A replacement of the prefix of a vendor's chunks, without parsing them. */
export interface ChunkSplice {
  /** The vendor's text up to the choices, the same in every chunk. */
  prefix: string
  replacement: string
  /** The gateway's fields. A vendor's value after the choices would come last and override them. */
  ownFields: readonly string[]
  /** Characters of a chunk that are not content. */
  overhead: number
  /** A chunk with one of these must be parsed. In this vendor's JSON spacing. */
  unsafeMarkers: readonly string[]
  /** The end of a chunk with null usage, which strict clients reject. */
  nullUsageSuffix: string
  /** `mustRead`: chunks with reasoning must be parsed. */
  reasoning: { mustRead: boolean; fields: readonly string[] }
  toolCalls: { any: string; numbered: string; id: string; canPass: boolean }
  /** The start of a text. */
  content: string
  /** The last chunk with nothing but a text, around that text; null before there was one. */
  around: ChunkAround | null
}

/** Most chunks of a reply differ only in their text: such a chunk is known to be valid, and how it is relayed. */
interface ChunkAround {
  before: string
  after: string
  /** The text that the client is sent before and after the content. */
  relayedBefore: string
  relayedAfter: string
}

export function buildSplice(
  chunk: JsonObject,
  data: string,
  head: JsonObject,
  readsReasoning: boolean,
  areIndexesUnchanged: boolean,
): ChunkSplice | null {
  const names = Object.keys(chunk)
  const trailingNames = names.slice(names.indexOf('choices'))
  const ownFields = Object.keys(head)
  if (trailingNames.some((name) => ownFields.includes(name))) return null
  const at = data.indexOf('"choices"')
  const open = data.indexOf('[', at)
  const before = parseChunk(`${data.slice(0, at)}"choices":0}`)
  if (at === -1 || open === -1 || !before) return null
  const gap = data.slice(at + '"choices"'.length, open)
  if (gap !== ':' && gap !== ': ') return null
  const { choices: _choices, usage: _usage, ...vendorFields } = before
  const replacement = JSON.stringify({ ...vendorFields, ...head })
  const delta = asObject(asObjects(chunk.choices)[0]?.delta) ?? {}
  return {
    prefix: copyPart(data.slice(0, open), data),
    replacement: `data: ${replacement.slice(0, -1)},"choices":`,
    ownFields,
    overhead: data.length - countContentCharacters(delta),
    unsafeMarkers: [
      `"finish_reason"${gap}"`,
      '"usage"',
      `"error"${gap}{`,
      `"error"${gap}"`,
      `"content"${gap}[`,
      `"function_call"${gap}{`,
      `"message"${gap}{`,
    ],
    nullUsageSuffix: `,"usage"${gap}null}`,
    reasoning: { mustRead: readsReasoning, fields: [`"reasoning_content"${gap}"`, `"reasoning"${gap}"`] },
    toolCalls: {
      any: `"tool_calls"${gap}[`,
      numbered: `"tool_calls"${gap}[{"index"${gap}`,
      id: `"id"${gap}"`,
      canPass: areIndexesUnchanged,
    },
    content: `"content"${gap}"`,
    around: null,
  }
}

/** The chunk for the client; null if it must be parsed. Markers only match keys: quotes in strings are escaped. */
export function spliceChunk(splice: ChunkSplice, data: string): string | null {
  return spliceAlike(splice, data, 0, data.length) ?? spliceOther(splice, data)
}

/** The chunk for the client from `start` to `end`; null if it differs from the last in more than its text, or has escapes in it. */
export function spliceAlike(
  { around }: ChunkSplice,
  text: string,
  start: number,
  end: number,
): string | null {
  if (around === null) return null
  const { before, after } = around
  const contentStart = start + before.length
  const contentEnd = end - after.length
  if (contentEnd < contentStart || !text.startsWith(before, start) || !text.endsWith(after, end)) return null
  const content = text.slice(contentStart, contentEnd)
  return unsafeInString.test(content) ? null : around.relayedBefore + content + around.relayedAfter
}

/** Matches a character that ends a string, begins an escape, or is not allowed in one. */
const unsafeInString = /["\\]|[^ -\uffff]/

function spliceOther(splice: ChunkSplice, data: string): string | null {
  if (!data.startsWith(splice.prefix) || data.includes('\n')) return null
  const suffix = data.slice(splice.prefix.length)
  const rest = suffix.endsWith(splice.nullUsageSuffix)
    ? `${suffix.slice(0, -splice.nullUsageSuffix.length)}}`
    : suffix
  for (const marker of splice.unsafeMarkers) if (rest.includes(marker)) return null
  const { toolCalls } = splice
  if (
    rest.includes(toolCalls.any) &&
    (!toolCalls.canPass || !rest.includes(toolCalls.numbered) || rest.includes(toolCalls.id))
  ) {
    return null
  }
  if (!isValidChunk(rest, splice.ownFields)) return null
  if (rest.includes('"reasoning')) return spliceReasoning(splice, rest)
  if (!rest.includes(toolCalls.any)) splice.around = splitAtText(splice, data, rest)
  return `${splice.replacement}${rest}\n\n`
}

/** `rest` begins as the chunk does after its prefix, and may end earlier. */
function splitAtText(
  { prefix, replacement, content }: ChunkSplice,
  data: string,
  rest: string,
): ChunkAround | null {
  const at = rest.indexOf(content)
  const start = at + content.length
  const end = at === -1 ? -1 : findClosingQuote(rest, start)
  // Every event with an error is searched for secrets.
  if (end === -1 || hasErrorField(data)) return null
  return {
    before: copyPart(data.slice(0, prefix.length + start), data),
    after: copyPart(data.slice(prefix.length + end), data),
    relayedBefore: copyPart(replacement + rest.slice(0, start), data),
    relayedAfter: copyPart(`${rest.slice(end)}\n\n`, data),
  }
}

/** Adds this API's reasoning fields to a chunk that has a vendor's. */
function spliceReasoning({ replacement, reasoning }: ChunkSplice, rest: string): string | null {
  if (reasoning.mustRead) return null
  if (rest.includes('"reasoning_details"'))
    return emptyDetailsPattern.test(rest) ? null : `${replacement}${rest}\n\n`
  for (const field of reasoning.fields) {
    const at = rest.indexOf(field)
    if (at === -1) continue
    const start = at + field.length - 1
    const end = findClosingQuote(rest, start + 1)
    if (end === -1) return null
    const text = rest.slice(start, end + 1)
    if (text === '""') continue
    const named = field.startsWith('"reasoning"') ? '' : `"reasoning":${text},`
    const details = `"reasoning_details":[{"type":"reasoning.text","text":${text},"format":"unknown","index":0}],`
    return `${replacement}${rest.slice(0, at)}${named}${details}${rest.slice(at)}\n\n`
  }
  return `${replacement}${rest}\n\n`
}

const emptyDetailsPattern = /"reasoning_details":\s*\[\s*\]/

/** Whether the rest is valid JSON that does not override the gateway's fields. */
function isValidChunk(rest: string, fields: readonly string[]): boolean {
  const chunk = parseChunk(`{"choices":${rest}`)
  return chunk !== undefined && !fields.some((name) => name in chunk)
}

function findClosingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
    let escapes = 0
    while (text.charCodeAt(at - 1 - escapes) === 0x5c) escapes++
    if (escapes % 2 === 0) return at
  }
  return -1
}
