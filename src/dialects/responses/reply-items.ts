import type { AudioPart, OutputPart, ReasoningPart } from '../../call/part.ts'
import { unpackReasoning } from '../../call/reasoning.ts'
import { countOf, defined, type JsonObject, numberOf, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import { decodeAnnotations, decodeLogprobs } from './annotations.ts'
import { opaque } from './content-decode.ts'
import { decodeReasoning, imageOf } from './items-decode.ts'
import { isOfItem } from './output-items.ts'
import { flatName, type OpenItem, type OpenPart, type ReplyState } from './reply-state.ts'

/** Begins a part for an item that is told piece by piece. Thinking begins when there is something to see. */
export function beginItem(state: ReplyState, item: OpenItem, value: JsonObject): void {
  if (!state.isClientCall(value)) return
  const id = textOf(value.call_id) ?? textOf(value.id) ?? ''
  const call = { kind: 'tool-call' as const, id, name: flatName(value), arguments: '' }
  state.startPart(item, 0, item.type === 'custom_tool_call' ? { ...call, custom: true } : call)
}

/** The whole item is known: fills in what no delta brought, and ends it. */
export function completeItem(state: ReplyState, item: OpenItem, value: JsonObject): void {
  if (item.done) return
  const runByVendor = item.type === 'custom_tool_call' && !state.isClientCall(value)
  const complete = runByVendor ? undefined : completions.get(item.type)
  if (complete) complete(state, item, value)
  else whole(state, item, opaque(value))
  if (item.type === 'web_search_call' && isSearch(value)) state.searches++
  state.endItem(item)
}

const completions = new Map<string, (state: ReplyState, item: OpenItem, value: JsonObject) => void>([
  ['message', completeMessage],
  ['function_call', (state, item, value) => completeCall(state, item, value, value.arguments)],
  ['custom_tool_call', (state, item, value) => completeCall(state, item, value, value.input)],
  ['reasoning', completeReasoning],
  ['image_generation_call', (state, item, value) => whole(state, item, imageOf(value) ?? opaque(value))],
])

/** Opening a page it found is not another search. */
export function isSearch(item: JsonObject): boolean {
  const action = textOf(objectOf(item.action)?.type)
  return action === undefined || action === 'search'
}

function whole(state: ReplyState, item: OpenItem, content: OutputPart): void {
  if (!item.parts.has(0)) state.startPart(item, 0, content)
}

function completeMessage(state: ReplyState, item: OpenItem, value: JsonObject): void {
  const begun = [...item.parts.values()]
  objectsOf(value.content).forEach((content, index) => {
    // Vendors whose numbering in deltas is off by some: what began first is what stands first.
    const part = item.parts.get(index) ?? begun[index] ?? contentPart(state, item, index, content)
    if (part) completeContent(state, part, content)
  })
}

/** The part for a piece of a message's content, begun if it is not. */
export function contentPart(
  state: ReplyState,
  item: OpenItem,
  index: number,
  content: JsonObject,
): OpenPart | null {
  const open = item.parts.get(index)
  if (open) return open
  if (content.type === 'refusal') return state.startPart(item, index, { kind: 'refusal', text: '' })
  if (content.type !== 'output_text' && content.type !== 'text') return null
  const audio = objectOf(content.audio)
  return state.startPart(item, index, audio ? audioStart(audio) : { kind: 'text', text: '' })
}

/** Sound is our own addition to this format: bytes beside the words of an `output_text`. */
function audioStart(audio: JsonObject): AudioPart {
  return defined({
    kind: 'audio' as const,
    data: '',
    format: textOf(audio.format) ?? '',
    id: textOf(audio.id),
    expiresAt: numberOf(audio.expires_at),
  })
}

export function completeContent(state: ReplyState, part: OpenPart, content: JsonObject): void {
  const audio = objectOf(content.audio)
  fillText(state, part, content.text ?? content.refusal, audio ? 'transcript' : 'text')
  if (audio) fillData(state, part, audio.data)
  for (const citation of decodeAnnotations(content.annotations).slice(part.citations)) {
    part.citations++
    state.delta(part, { citation })
  }
  fillLogprobs(state, part, content.logprobs)
}

export function fillLogprobs(state: ReplyState, part: OpenPart, value: unknown): void {
  const logprobs = decodeLogprobs(value).slice(part.logprobs)
  if (logprobs.length === 0) return
  part.logprobs += logprobs.length
  state.delta(part, { logprobs })
}

/** What is whole beyond what came in pieces. A whole that contradicts the pieces is not believed. */
export function fillText(
  state: ReplyState,
  part: OpenPart,
  value: unknown,
  field: 'text' | 'arguments' | 'transcript',
): void {
  const whole = textOf(value)
  if (whole === undefined || whole.length <= part.text.length || !whole.startsWith(part.text)) return
  const rest = whole.slice(part.text.length)
  part.text = whole
  state.delta(part, { [field]: rest })
}

function fillData(state: ReplyState, part: OpenPart, value: unknown): void {
  const data = textOf(value)
  if (data === undefined || data.length <= part.data.length || !data.startsWith(part.data)) return
  state.delta(part, { data: data.slice(part.data.length) })
  part.data = data
}

function completeCall(state: ReplyState, item: OpenItem, value: JsonObject, text: unknown): void {
  if (!item.parts.has(0)) beginItem(state, item, value)
  const part = item.parts.get(0)
  if (part) fillText(state, part, text, 'arguments')
}

/** The part for an item of thinking, begun if it is not. */
export function reasoningPart(state: ReplyState, item: OpenItem, told: ReasoningPart): OpenPart {
  const open = item.parts.get(0)
  if (open) return open
  const { id, format } = told
  const content: ReasoningPart = { kind: 'reasoning', text: '', summary: [], format }
  return state.startPart(item, 0, id === undefined ? content : { ...content, id })
}

/** Thinking of another vendor has an id of ours on the wire; its own, if any, is in the packed text. */
export function beginReasoning(value: JsonObject): ReasoningPart {
  const { id, ...told } = decodeReasoning(value)
  return id !== undefined && isOfItem(told.format) ? { ...told, id } : told
}

function completeReasoning(state: ReplyState, item: OpenItem, value: JsonObject): void {
  const packed = unpackReasoning(textOf(value.encrypted_content) ?? '')
  const told = packed ?? beginReasoning(value)
  const { encrypted, signature } = told
  const sealed = encrypted !== undefined || signature !== undefined
  // An item that says nothing is of no use to anyone: the vendor keeps no memory of it either.
  if (!sealed && !packed && told.text === '' && told.summary.length === 0 && item.parts.size === 0) return
  const part = reasoningPart(state, item, told)
  fillText(state, part, told.text, 'text')
  for (const [section, text] of told.summary.entries()) fillSection(state, part, section, text)
  if (sealed) state.delta(part, defined({ encrypted, signature }))
}

/** Sections come in order, whatever number a vendor gives them. */
export function sectionOf(part: OpenPart, index: unknown): number {
  return Math.min(countOf(index), part.sections.length)
}

export function fillSection(state: ReplyState, part: OpenPart, section: number, whole: string): void {
  const known = part.sections[section]
  // The lengths first: comparing puts together what came in pieces, which must not happen for every event.
  if (whole.length <= (known?.length ?? -1) || !whole.startsWith(known ?? '')) return
  part.sections[section] = whole
  state.delta(part, { summary: whole.slice(known?.length ?? 0), section })
}
