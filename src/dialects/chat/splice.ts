import { type JsonObject, objectOf, objectsOf } from '../../lib/loose.ts'
import { saidLength } from './normalise.ts'
import { parsed } from './reply-read.ts'

/** How to give a vendor's chunks our own beginning without reading them. */
export interface Splice {
  /** The vendor's text up to the choices, the same in every chunk. */
  prefix: string
  ours: string
  /** What we say of the reply ourselves; behind the choices a vendor's own word would come last and win. */
  fields: readonly string[]
  /** Characters of a chunk that are not the answer. */
  overhead: number
  /** What a chunk must not contain to pass unread, as this vendor spaces its JSON. */
  signs: readonly string[]
  /** How a chunk ends that says it has no usage: strict clients take an object or nothing. */
  noUsage: string
  /** `read`: chunks with thinking cannot pass as they are. */
  reasoning: { read: boolean; fields: readonly string[] }
  calls: { any: string; numbered: string; id: string; pass: boolean }
}

export function learnSplice(
  chunk: JsonObject,
  data: string,
  head: JsonObject,
  readsReasoning: boolean,
  numbersHold: boolean,
): Splice | null {
  const names = Object.keys(chunk)
  const behind = names.slice(names.indexOf('choices'))
  const fields = Object.keys(head)
  if (behind.some((name) => fields.includes(name))) return null
  const at = data.indexOf('"choices"')
  const open = data.indexOf('[', at)
  const before = parsed(`${data.slice(0, at)}"choices":0}`)
  if (at === -1 || open === -1 || !before) return null
  const gap = data.slice(at + '"choices"'.length, open)
  if (gap !== ':' && gap !== ': ') return null
  const { choices: _none, usage: _nothing, ...kept } = before
  const ours = JSON.stringify({ ...kept, ...head })
  const said = objectOf(objectsOf(chunk.choices)[0]?.delta) ?? {}
  return {
    prefix: data.slice(0, open),
    ours: `data: ${ours.slice(0, -1)},"choices":`,
    fields,
    overhead: data.length - saidLength(said),
    signs: [
      `"finish_reason"${gap}"`,
      '"usage"',
      `"error"${gap}{`,
      `"error"${gap}"`,
      `"content"${gap}[`,
      `"function_call"${gap}{`,
    ],
    noUsage: `,"usage"${gap}null}`,
    reasoning: { read: readsReasoning, fields: [`"reasoning_content"${gap}"`, `"reasoning"${gap}"`] },
    calls: {
      any: `"tool_calls"${gap}[`,
      numbered: `"tool_calls"${gap}[{"index"${gap}`,
      id: `"id"${gap}"`,
      pass: numbersHold,
    },
  }
}

/** The chunk for the client, or null when it must be read. Quotes within strings are escaped, so signs are keys. */
export function splice(learnt: Splice, data: string): string | null {
  if (!data.startsWith(learnt.prefix) || data.includes('\n')) return null
  const given = data.slice(learnt.prefix.length)
  const rest = given.endsWith(learnt.noUsage) ? `${given.slice(0, -learnt.noUsage.length)}}` : given
  for (const sign of learnt.signs) if (rest.includes(sign)) return null
  const { calls } = learnt
  if (
    rest.includes(calls.any) &&
    (!calls.pass || !rest.includes(calls.numbered) || rest.includes(calls.id))
  ) {
    return null
  }
  if (!isChunk(rest, learnt.fields)) return null
  if (rest.includes('"reasoning')) return spliceReasoning(learnt, rest)
  return `${learnt.ours}${rest}\n\n`
}

/** Thinking under a vendor's own name is given the names of this API as well. */
function spliceReasoning({ ours, reasoning }: Splice, rest: string): string | null {
  if (reasoning.read) return null
  if (rest.includes('"reasoning_details"')) return emptyDetails.test(rest) ? null : `${ours}${rest}\n\n`
  for (const field of reasoning.fields) {
    const at = rest.indexOf(field)
    if (at === -1) continue
    const start = at + field.length - 1
    const end = closingQuote(rest, start + 1)
    if (end === -1) return null
    const text = rest.slice(start, end + 1)
    if (text === '""') continue
    const named = field.startsWith('"reasoning"') ? '' : `"reasoning":${text},`
    const details = `"reasoning_details":[{"type":"reasoning.text","text":${text},"format":"unknown","index":0}],`
    return `${ours}${rest.slice(0, at)}${named}${details}${rest.slice(at)}\n\n`
  }
  return `${ours}${rest}\n\n`
}

const emptyDetails = /"reasoning_details":\s*\[\s*\]/

/** Whether it is JSON to its last character, and leaves our own words about the reply alone. */
function isChunk(rest: string, fields: readonly string[]): boolean {
  const chunk = parsed(`{"choices":${rest}`)
  return chunk !== undefined && !fields.some((name) => name in chunk)
}

function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
    let escapes = 0
    while (text.charCodeAt(at - 1 - escapes) === 0x5c) escapes++
    if (escapes % 2 === 0) return at
  }
  return -1
}
