import type { FinishReason, ReplyEvent } from '../../call/event.ts'
import { countOf, type JsonObject, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import type { SseFrame } from '../../lib/sse.ts'
import type { ReplyReader } from '../dialect.ts'
import { decodeAnnotation, decodeLogprobs } from './annotations.ts'
import { brokenReply, failureOf } from './error.ts'
import { parseFrame } from './frame.ts'
import {
  beginItem,
  beginReasoning,
  completeContent,
  completeItem,
  contentPart,
  fillLogprobs,
  fillSection,
  fillText,
  reasoningPart,
  sectionOf,
} from './reply-items.ts'
import { type OpenItem, type OpenPart, ReplyState } from './reply-state.ts'

export function reader(): ReplyReader {
  const state = new ReplyState()
  return {
    read(frame: SseFrame): ReplyEvent[] {
      if (state.over || frame.data === '[DONE]') return []
      const found = parseFrame(frame)
      if (found) handle(state, found.type, found.event)
      else state.fail(brokenReply('an event of the stream is not a JSON object'))
      const events = state.out
      state.out = []
      return events
    },
    end: () => [],
  }
}

export function decodeReply(body: JsonObject): ReplyEvent[] {
  const state = new ReplyState()
  const response = objectOf(body.response) ?? body
  if (!Array.isArray(response.output) && !objectOf(response.error)) {
    state.fail(brokenReply('the reply has no output'))
  } else {
    state.startReply(response)
    finish(state, response)
  }
  return state.out
}

function handle(state: ReplyState, type: string, event: JsonObject): void {
  const handler = handlers.get(type)
  if (handler) handler(state, event, type)
  // An error without a type: how gateways in front of vendors say it.
  else if (objectOf(event.error)) state.fail(failureOf(objectOf(event.error), 'the upstream failed'))
}

type Handler = (state: ReplyState, event: JsonObject, type: string) => void

const begin: Handler = (state, event) => state.startReply(objectOf(event.response) ?? {})
const end: Handler = (state, event, type) => finish(state, objectOf(event.response) ?? {}, type)

const handlers = new Map<string, Handler>([
  ['response.created', begin],
  ['response.in_progress', begin],
  ['response.queued', begin],
  ['response.output_item.added', itemAdded],
  ['response.output_item.done', itemDone],
  ['response.content_part.added', contentAdded],
  ['response.content_part.done', contentDone],
  ['response.output_text.delta', textDelta('output_text')],
  ['response.output_text.done', textDone('output_text')],
  ['response.output_text.annotation.added', annotationAdded],
  ['response.refusal.delta', textDelta('refusal')],
  ['response.refusal.done', textDone('refusal')],
  ['response.function_call_arguments.delta', argumentsDelta],
  ['response.function_call_arguments.done', (state, event) => argumentsDone(state, event, event.arguments)],
  ['response.custom_tool_call_input.delta', argumentsDelta],
  ['response.custom_tool_call_input.done', (state, event) => argumentsDone(state, event, event.input)],
  ['response.reasoning_text.delta', thoughtDelta],
  ['response.reasoning.delta', thoughtDelta],
  ['response.reasoning_summary_part.added', (state, event) => summaryDelta(state, event, '')],
  ['response.reasoning_summary_text.delta', (state, event) => summaryDelta(state, event, event.delta)],
  ['response.reasoning_summary_text.done', summaryDone],
  ['response.audio.delta', audioDelta],
  ['response.completed', end],
  ['response.done', end],
  ['response.incomplete', end],
  ['response.failed', end],
  ['response.cancelled', end],
  ['error', (state, event) => state.fail(failureOf(objectOf(event.error) ?? event, 'the upstream failed'))],
])

function itemAdded(state: ReplyState, event: JsonObject): void {
  const value = objectOf(event.item)
  if (value) beginItem(state, state.openItem(event, value), value)
}

function itemDone(state: ReplyState, event: JsonObject): void {
  const value = objectOf(event.item)
  if (!value) return
  completeItem(state, state.findItem(event, value) ?? state.openItem(event, value), value)
}

/** The message an event is about, even if the vendor never announced it. */
function messageOf(state: ReplyState, event: JsonObject): OpenItem {
  const found = state.findItem(event)
  return found?.type === 'message' ? found : state.openItem(event, { type: 'message', id: event.item_id })
}

function contentOf(state: ReplyState, event: JsonObject, content: JsonObject): OpenPart | null {
  return contentPart(state, messageOf(state, event), countOf(event.content_index), content)
}

function contentAdded(state: ReplyState, event: JsonObject): void {
  const content = objectOf(event.part)
  if (content && content.type !== 'reasoning_text') contentOf(state, event, content)
}

function contentDone(state: ReplyState, event: JsonObject): void {
  const content = objectOf(event.part)
  if (!content || content.type === 'reasoning_text') return
  const part = contentOf(state, event, content)
  if (!part) return
  completeContent(state, part, content)
  state.endPart(part)
}

function textDelta(type: 'output_text' | 'refusal'): Handler {
  return (state, event) => {
    const part = contentOf(state, event, { type })
    const delta = textOf(event.delta) ?? ''
    if (!part) return
    part.text += delta
    const logprobs = decodeLogprobs(event.logprobs)
    part.logprobs += logprobs.length
    if (part.kind === 'audio') state.delta(part, { transcript: delta })
    else if (logprobs.length > 0) state.delta(part, { text: delta, logprobs })
    else if (delta !== '') state.delta(part, { text: delta })
  }
}

function textDone(type: 'output_text' | 'refusal'): Handler {
  return (state, event) => {
    const part = contentOf(state, event, { type })
    if (!part) return
    fillText(state, part, event.text ?? event.refusal, part.kind === 'audio' ? 'transcript' : 'text')
    fillLogprobs(state, part, event.logprobs)
  }
}

function annotationAdded(state: ReplyState, event: JsonObject): void {
  const part = contentOf(state, event, { type: 'output_text' })
  const annotation = objectOf(event.annotation)
  if (!part || !annotation) return
  part.citations++
  state.delta(part, { citation: decodeAnnotation(annotation) })
}

function audioDelta(state: ReplyState, event: JsonObject): void {
  const part = state.findItem(event)?.parts.get(countOf(event.content_index))
  const data = textOf(event.delta)
  if (!part || !data || part.kind !== 'audio') return
  part.data += data
  state.delta(part, { data })
}

function argumentsDelta(state: ReplyState, event: JsonObject): void {
  const part = state.findItem(event)?.parts.get(0)
  const delta = textOf(event.delta)
  if (!part || !delta) return
  part.text += delta
  state.delta(part, { arguments: delta })
}

function argumentsDone(state: ReplyState, event: JsonObject, whole: unknown): void {
  const part = state.findItem(event)?.parts.get(0)
  if (part) fillText(state, part, whole, 'arguments')
}

function thinking(state: ReplyState, event: JsonObject): OpenPart {
  const found = state.findItem(event)
  const item =
    found?.type === 'reasoning' ? found : state.openItem(event, { type: 'reasoning', id: event.item_id })
  return reasoningPart(state, item, beginReasoning(item.value))
}

function thoughtDelta(state: ReplyState, event: JsonObject): void {
  const part = thinking(state, event)
  const text = textOf(event.delta)
  if (!text) return
  part.text += text
  state.delta(part, { text })
}

function summaryDelta(state: ReplyState, event: JsonObject, delta: unknown): void {
  const part = thinking(state, event)
  const summary = textOf(delta)
  if (summary === undefined) return
  const section = sectionOf(part, event.summary_index)
  part.sections[section] = (part.sections[section] ?? '') + summary
  state.delta(part, { summary, section })
}

function summaryDone(state: ReplyState, event: JsonObject): void {
  const part = thinking(state, event)
  fillSection(state, part, sectionOf(part, event.summary_index), textOf(event.text) ?? '')
}

function finish(state: ReplyState, response: JsonObject, event?: string): void {
  state.startReply(response)
  const status = statusOf(response, event)
  if (objectOf(response.error) || failed.has(status)) {
    state.tellUsage(response)
    state.fail(failureOf(objectOf(response.error), `the response is ${status}`))
    return
  }
  completeFrom(state, objectsOf(response.output))
  const { reason, native } = finishOf(response, status)
  state.finish(response, reason, native)
}

/** The event's own word, except that a completed one may hold a response that is not. */
export function statusOf(response: JsonObject, event?: string): string {
  const said = textOf(response.status)
  const word = event?.slice('response.'.length) ?? said ?? 'completed'
  if (word !== 'completed' && word !== 'done') return word
  return said === 'incomplete' || said === 'failed' ? said : 'completed'
}

const failed = new Set(['failed', 'cancelled', 'queued', 'in_progress'])

/** The last event repeats the output: it counts for items left open, and for all when none was streamed. */
function completeFrom(state: ReplyState, output: JsonObject[]): void {
  const streamed = state.anyItem
  output.forEach((value, index) => {
    const item = streamed ? state.findItem({}, value) : state.openItem({ output_index: index }, value)
    if (item && (!streamed || typeof value.id === 'string')) completeItem(state, item, value)
  })
}

export function finishOf(response: JsonObject, status: string): { reason: FinishReason; native: string } {
  if (status !== 'incomplete') return { reason: 'stop', native: status }
  const native = textOf(objectOf(response.incomplete_details)?.reason) ?? status
  return { reason: native === 'content_filter' ? 'content_filter' : 'length', native }
}
