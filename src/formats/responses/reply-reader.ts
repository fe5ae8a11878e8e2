import type { SseFrame } from '../../platform/http/sse.ts'
import {
  asCount,
  asObject,
  asObjects,
  asString,
  firstFilled,
  type JsonObject,
} from '../../platform/json/json-values.ts'
import type { ReplyEvent } from '../call/event.ts'
import { errorObjectOf } from '../error-object.ts'
import type { ReplyReader } from '../wire-format.ts'
import { decodeAnnotation, decodeLogprobs } from './annotations.ts'
import { decodeFailure, malformedReplyFailure } from './error.ts'
import { decodeFinishReason, resolveStatus } from './finish-reason.ts'
import { parseFrame } from './frame.ts'
import {
  completeContent,
  completeItem,
  decodeReasoningStart,
  fillLogprobs,
  fillSummary,
  fillText,
  openContentPart,
  openReasoningPart,
  startItem,
  summaryIndexOf,
} from './item-reader.ts'
import { type OpenItem, type OpenPart, ReplyState } from './reply-state.ts'

export function createReader(): ReplyReader {
  const state = new ReplyState()
  return {
    read(frame: SseFrame): ReplyEvent[] {
      if (state.isOver || frame.data === '[DONE]') return []
      const parsed = parseFrame(frame)
      if (parsed) handleEvent(state, parsed.type, parsed.event)
      else state.fail(malformedReplyFailure('The provider sent an event that is not a JSON object.'))
      const events = state.events
      state.events = []
      return events
    },
    end: () => [],
  }
}

export function decodeReply(body: JsonObject): ReplyEvent[] {
  const state = new ReplyState()
  const response = asObject(body.response) ?? body
  if (!Array.isArray(response.output) && !errorObjectOf(response)) {
    state.fail(malformedReplyFailure('The provider sent a reply without output.'))
  } else {
    state.startReply(response)
    finishReply(state, response)
  }
  return state.events
}

const pendingStatuses = new Set(['queued', 'in_progress'])

export function findPendingId({ id, status }: JsonObject): string | null {
  const isPending = pendingStatuses.has(asString(status) ?? '')
  return isPending && typeof id === 'string' && /^[\w-]{1,256}$/.test(id) ? id : null
}

function handleEvent(state: ReplyState, type: string, event: JsonObject): void {
  const handler = handlers.get(type)
  if (handler) handler(state, event, type)
  // Gateways in front of vendors send an error without a type.
  else if (errorObjectOf(event)) failReply(state, event)
}

type Handler = (state: ReplyState, event: JsonObject, type: string) => void

const onResponseStart: Handler = (state, event) => state.startReply(asObject(event.response) ?? {})
const onResponseEnd: Handler = (state, event, type) =>
  finishReply(state, asObject(event.response) ?? {}, type)

const handlers = new Map<string, Handler>([
  ['response.created', onResponseStart],
  ['response.in_progress', onResponseStart],
  ['response.queued', onResponseStart],
  ['response.output_item.added', onItemAdded],
  ['response.output_item.done', onItemDone],
  ['response.content_part.added', onContentAdded],
  ['response.content_part.done', onContentDone],
  ['response.output_text.delta', createTextDeltaHandler('output_text')],
  ['response.output_text.done', createTextDoneHandler('output_text')],
  ['response.output_text.annotation.added', onAnnotationAdded],
  ['response.refusal.delta', createTextDeltaHandler('refusal')],
  ['response.refusal.done', createTextDoneHandler('refusal')],
  ['response.function_call_arguments.delta', onArgumentsDelta],
  ['response.function_call_arguments.done', (state, event) => onArgumentsDone(state, event, event.arguments)],
  ['response.custom_tool_call_input.delta', onArgumentsDelta],
  ['response.custom_tool_call_input.done', (state, event) => onArgumentsDone(state, event, event.input)],
  ['response.reasoning_text.delta', onReasoningDelta],
  ['response.reasoning.delta', onReasoningDelta],
  ['response.reasoning_summary_part.added', (state, event) => onSummaryDelta(state, event, '')],
  ['response.reasoning_summary_text.delta', (state, event) => onSummaryDelta(state, event, event.delta)],
  ['response.reasoning_summary_text.done', onSummaryDone],
  ['response.audio.delta', onAudioDelta],
  ['response.completed', onResponseEnd],
  ['response.done', onResponseEnd],
  ['response.incomplete', onResponseEnd],
  ['response.failed', onResponseEnd],
  ['response.cancelled', onResponseEnd],
  ['error', failReply],
])

function failReply(state: ReplyState, event: JsonObject): void {
  state.fail(decodeFailure(errorObjectOf(event) ?? event, 'The provider failed.'))
}

function onItemAdded(state: ReplyState, event: JsonObject): void {
  const value = asObject(event.item)
  if (value) startItem(state, state.openItem(event, value), value)
}

function onItemDone(state: ReplyState, event: JsonObject): void {
  const value = asObject(event.item)
  if (!value) return
  completeItem(state, state.findItem(event, value) ?? state.openItem(event, value), value)
}

/** The message of an event, even if the vendor never announced it. */
function openMessage(state: ReplyState, event: JsonObject): OpenItem {
  const item = state.findItem(event)
  return item?.type === 'message' ? item : state.openItem(event, { type: 'message', id: event.item_id })
}

function openContent(state: ReplyState, event: JsonObject, content: JsonObject): OpenPart | null {
  return openContentPart(state, openMessage(state, event), asCount(event.content_index), content)
}

function onContentAdded(state: ReplyState, event: JsonObject): void {
  const content = asObject(event.part)
  if (content && content.type !== 'reasoning_text') openContent(state, event, content)
}

function onContentDone(state: ReplyState, event: JsonObject): void {
  const content = asObject(event.part)
  if (!content || content.type === 'reasoning_text') return
  const part = openContent(state, event, content)
  if (!part) return
  completeContent(state, part, content)
  state.endPart(part)
}

function createTextDeltaHandler(type: 'output_text' | 'refusal'): Handler {
  return (state, event) => {
    const part = openContent(state, event, { type })
    const delta = asString(event.delta) ?? ''
    if (!part) return
    part.text += delta
    const logprobs = decodeLogprobs(event.logprobs)
    part.logprobCount += logprobs.length
    if (part.kind === 'audio') state.addDelta(part, { transcript: delta })
    else if (logprobs.length > 0) state.addDelta(part, { text: delta, logprobs })
    else if (delta !== '') state.addDelta(part, { text: delta })
  }
}

function createTextDoneHandler(type: 'output_text' | 'refusal'): Handler {
  return (state, event) => {
    const part = openContent(state, event, { type })
    if (!part) return
    fillText(
      state,
      part,
      firstFilled(event.text, event.refusal),
      part.kind === 'audio' ? 'transcript' : 'text',
    )
    fillLogprobs(state, part, event.logprobs)
  }
}

function onAnnotationAdded(state: ReplyState, event: JsonObject): void {
  const part = openContent(state, event, { type: 'output_text' })
  const annotation = asObject(event.annotation)
  if (!part || !annotation) return
  part.citationCount++
  state.addDelta(part, { citation: decodeAnnotation(annotation) })
}

function onAudioDelta(state: ReplyState, event: JsonObject): void {
  const part = state.findItem(event)?.parts.get(asCount(event.content_index))
  const data = asString(event.delta)
  if (!part || !data || part.kind !== 'audio') return
  part.data += data
  state.addDelta(part, { data })
}

function onArgumentsDelta(state: ReplyState, event: JsonObject): void {
  const part = state.findItem(event)?.parts.get(0)
  const delta = asString(event.delta)
  if (!part || !delta) return
  part.text += delta
  state.addDelta(part, { arguments: delta })
}

function onArgumentsDone(state: ReplyState, event: JsonObject, whole: unknown): void {
  const part = state.findItem(event)?.parts.get(0)
  if (part) fillText(state, part, whole, 'arguments')
}

function openReasoning(state: ReplyState, event: JsonObject): OpenPart {
  const existing = state.findItem(event)
  const item =
    existing?.type === 'reasoning'
      ? existing
      : state.openItem(event, { type: 'reasoning', id: event.item_id })
  return openReasoningPart(state, item, decodeReasoningStart(item.value))
}

function onReasoningDelta(state: ReplyState, event: JsonObject): void {
  const part = openReasoning(state, event)
  const text = asString(event.delta)
  if (!text) return
  part.text += text
  state.addDelta(part, { text })
}

function onSummaryDelta(state: ReplyState, event: JsonObject, delta: unknown): void {
  const part = openReasoning(state, event)
  const summary = asString(delta)
  if (summary === undefined) return
  const section = summaryIndexOf(part, event.summary_index)
  part.summaries[section] = (part.summaries[section] ?? '') + summary
  state.addDelta(part, { summary, section })
}

function onSummaryDone(state: ReplyState, event: JsonObject): void {
  const part = openReasoning(state, event)
  fillSummary(state, part, summaryIndexOf(part, event.summary_index), asString(event.text) ?? '')
}

function finishReply(state: ReplyState, response: JsonObject, event?: string): void {
  state.startReply(response)
  const status = resolveStatus(response, event)
  const error = errorObjectOf(response)
  if (error || failedStatuses.has(status)) {
    state.addUsage(response)
    state.fail(decodeFailure(error, `The provider returned a response with status ${status}.`))
    return
  }
  completeItems(state, asObjects(response.output))
  const { reason, native } = decodeFinishReason(response, status)
  state.finish(response, reason, native)
}

const failedStatuses = new Set(['failed', 'cancelled', 'queued', 'in_progress'])

/** The last event repeats the output: it completes open items, or all items if none was streamed. */
function completeItems(state: ReplyState, output: JsonObject[]): void {
  const wasStreamed = state.hasItems
  output.forEach((value, index) => {
    const item = wasStreamed ? state.findItem({}, value) : state.openItem({ output_index: index }, value)
    if (item && (!wasStreamed || typeof value.id === 'string')) completeItem(state, item, value)
  })
}
