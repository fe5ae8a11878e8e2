import {
  asCount,
  asNumber,
  asObject,
  asObjects,
  asString,
  firstFilled,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import type { AudioPart, OutputPart, ReasoningPart } from '../call/part.ts'
import { unpackReasoning } from '../call/reasoning.ts'
import { decodeAnnotations, decodeLogprobs } from './annotations.ts'
import { decodeImage, decodeReasoningItem } from './items-decode.ts'
import { hasReasoningItemIds } from './output-items-encode.ts'
import { createOpaquePart } from './parts-decode.ts'
import type { OpenItem, OpenPart, ReplyState } from './reply-state.ts'

/** Starts the part of a tool call. Other items start with their first content. */
export function startItem(state: ReplyState, item: OpenItem, value: JsonObject): void {
  if (!state.isClientCall(value)) return
  const id = asString(value.call_id) || asString(value.id) || ''
  const call = { kind: 'tool-call' as const, id, ...state.decodeItemName(value), arguments: '' }
  state.startPart(item, 0, item.type === 'custom_tool_call' ? { ...call, custom: true } : call)
}

/** Completes an item: emits what no delta has carried, and ends it. */
export function completeItem(state: ReplyState, item: OpenItem, value: JsonObject): void {
  if (item.isDone) return
  const isVendorCall = item.type === 'custom_tool_call' && !state.isClientCall(value)
  const complete = isVendorCall ? undefined : itemCompleters.get(item.type)
  if (complete) complete(state, item, value)
  else startWholePart(state, item, createOpaquePart(value))
  if (item.type === 'web_search_call' && isWebSearch(value)) state.webSearches++
  state.endItem(item)
}

const itemCompleters = new Map<string, (state: ReplyState, item: OpenItem, value: JsonObject) => void>([
  ['message', completeMessage],
  ['function_call', (state, item, value) => completeCall(state, item, value, value.arguments)],
  ['custom_tool_call', (state, item, value) => completeCall(state, item, value, value.input)],
  ['reasoning', completeReasoning],
  [
    'image_generation_call',
    (state, item, value) => startWholePart(state, item, decodeImage(value) ?? createOpaquePart(value)),
  ],
])

/** Opening a result page is not a search. */
export function isWebSearch(item: JsonObject): boolean {
  const action = asString(asObject(item.action)?.type)
  return action === undefined || action === 'search'
}

function startWholePart(state: ReplyState, item: OpenItem, content: OutputPart): void {
  if (!item.parts.has(0)) state.startPart(item, 0, content)
}

function completeMessage(state: ReplyState, item: OpenItem, value: JsonObject): void {
  const openParts = [...item.parts.values()]
  asObjects(value.content).forEach((content, index) => {
    // Some vendors send wrong content indexes in deltas: fall back to the order of the parts.
    const part = item.parts.get(index) ?? openParts[index] ?? openContentPart(state, item, index, content)
    if (part) completeContent(state, part, content)
  })
}

/** The part of a message's content, started if needed. */
export function openContentPart(
  state: ReplyState,
  item: OpenItem,
  index: number,
  content: JsonObject,
): OpenPart | null {
  const open = item.parts.get(index)
  if (open) return open
  if (content.type === 'refusal') return state.startPart(item, index, { kind: 'refusal', text: '' })
  if (content.type !== 'output_text' && content.type !== 'text') return null
  const audio = asObject(content.audio)
  return state.startPart(item, index, audio ? decodeAudioStart(audio) : { kind: 'text', text: '' })
}

/** Audio is this API's extension of the format: data next to the text of an `output_text`. */
function decodeAudioStart(audio: JsonObject): AudioPart {
  return omitUndefined({
    kind: 'audio' as const,
    data: '',
    format: asString(audio.format) ?? '',
    id: asString(audio.id),
    expiresAt: asNumber(audio.expires_at),
  })
}

export function completeContent(state: ReplyState, part: OpenPart, content: JsonObject): void {
  const audio = asObject(content.audio)
  fillText(state, part, firstFilled(content.text, content.refusal), audio ? 'transcript' : 'text')
  if (audio) fillData(state, part, audio.data)
  for (const citation of decodeAnnotations(content.annotations).slice(part.citationCount)) {
    part.citationCount++
    state.addDelta(part, { citation })
  }
  fillLogprobs(state, part, content.logprobs)
}

export function fillLogprobs(state: ReplyState, part: OpenPart, value: unknown): void {
  const logprobs = decodeLogprobs(value).slice(part.logprobCount)
  if (logprobs.length === 0) return
  part.logprobCount += logprobs.length
  state.addDelta(part, { logprobs })
}

/** Emits the rest of a complete value that no delta has carried. A value that contradicts the deltas is ignored. */
export function fillText(
  state: ReplyState,
  part: OpenPart,
  value: unknown,
  field: 'text' | 'arguments' | 'transcript',
): void {
  const whole = asString(value)
  if (whole === undefined || whole.length <= part.text.length || !whole.startsWith(part.text)) return
  const rest = whole.slice(part.text.length)
  part.text = whole
  state.addDelta(part, { [field]: rest })
}

function fillData(state: ReplyState, part: OpenPart, value: unknown): void {
  const data = asString(value)
  if (data === undefined || data.length <= part.data.length || !data.startsWith(part.data)) return
  state.addDelta(part, { data: data.slice(part.data.length) })
  part.data = data
}

function completeCall(state: ReplyState, item: OpenItem, value: JsonObject, text: unknown): void {
  if (!item.parts.has(0)) startItem(state, item, value)
  const part = item.parts.get(0)
  if (part) fillText(state, part, text, 'arguments')
}

/** The part of a reasoning item, started if needed. */
export function openReasoningPart(state: ReplyState, item: OpenItem, reasoning: ReasoningPart): OpenPart {
  const open = item.parts.get(0)
  if (open) return open
  const { id, format } = reasoning
  const content: ReasoningPart = { kind: 'reasoning', text: '', summary: [], format }
  return state.startPart(item, 0, id === undefined ? content : { ...content, id })
}

/** Reasoning of other vendors has a generated id on the wire; the original id is in the packed content. */
export function decodeReasoningStart(value: JsonObject): ReasoningPart {
  const { id, ...reasoning } = decodeReasoningItem(value)
  return id !== undefined && hasReasoningItemIds(reasoning.format) ? { ...reasoning, id } : reasoning
}

function completeReasoning(state: ReplyState, item: OpenItem, value: JsonObject): void {
  const packed = unpackReasoning(asString(value.encrypted_content) ?? '')
  const reasoning = packed ?? decodeReasoningStart(value)
  const { encrypted, signature } = reasoning
  const hasSignature = encrypted !== undefined || signature !== undefined
  // An empty item has no use: nothing is stored upstream under its id.
  if (
    !hasSignature &&
    !packed &&
    reasoning.text === '' &&
    reasoning.summary.length === 0 &&
    item.parts.size === 0
  )
    return
  const part = openReasoningPart(state, item, reasoning)
  fillText(state, part, reasoning.text, 'text')
  for (const [section, text] of reasoning.summary.entries()) fillSummary(state, part, section, text)
  if (hasSignature) state.addDelta(part, omitUndefined({ encrypted, signature }))
}

/** Sections are in order, whatever index a vendor sends. */
export function summaryIndexOf(part: OpenPart, index: unknown): number {
  return Math.min(asCount(index), part.summaries.length)
}

export function fillSummary(state: ReplyState, part: OpenPart, section: number, whole: string): void {
  const known = part.summaries[section]
  // Compare lengths first: `startsWith` flattens the concatenated string, too slow to do for every event.
  if (whole.length <= (known?.length ?? -1) || !whole.startsWith(known ?? '')) return
  part.summaries[section] = whole
  state.addDelta(part, { summary: whole.slice(known?.length ?? 0), section })
}
