import type { SseFrame } from '../../../src/platform/http/sse.ts'
import { asObject, asObjects, type JsonObject } from '../../../src/platform/json/json-values.ts'
import { assertRule } from './assert-rule.ts'
import { isSameJson } from './compare-request.ts'

const doneFields: Record<string, string> = {
  'response.output_text.done': 'text',
  'response.refusal.done': 'refusal',
  'response.function_call_arguments.done': 'arguments',
  'response.custom_tool_call_input.done': 'input',
  'response.reasoning_text.done': 'text',
  'response.reasoning_summary_text.done': 'text',
}

/** Events are numbered; items and parts are added, filled and done; the last event has the whole response. */
export function checkResponses(frames: SseFrame[]): void {
  const events = frames.map((frame) => {
    const event = JSON.parse(frame.data) as JsonObject
    assertRule(frame.event === event.type, 'the name of an event is its type')
    return event
  })
  const tracker = new ItemTracker()
  events.forEach((event, index) => {
    assertRule(event.sequence_number === index, 'events are numbered without gaps')
    tracker.track(event)
  })
  assertRule(events[0]?.type === 'response.created', 'the first event is response.created')
  const last = events.at(-1)
  assertRule(
    ['response.completed', 'response.incomplete'].includes(String(last?.type)),
    'it ends with the response',
  )
  tracker.assertComplete(asObject(last?.response)?.output)
}

class ItemTracker {
  readonly #openItems = new Map<string, string>()
  readonly #doneItems: JsonObject[] = []
  #itemCount = 0

  track(event: JsonObject): void {
    const type = String(event.type)
    const item = `item ${event.output_index}`
    const part = `${item} part ${event.content_index ?? ''}/${event.summary_index ?? ''}`
    if (type === 'response.output_item.added') {
      assertRule(event.output_index === this.#itemCount++, 'items are numbered in order')
      this.#openItems.set(item, '')
    } else if (type === 'response.output_item.done') {
      assertRule(this.#openItems.delete(item), 'an item is done once, after it was added')
      this.#doneItems[Number(event.output_index)] = asObject(event.item) ?? {}
    } else if (type.endsWith('part.added')) {
      assertRule(this.#openItems.has(item) && !this.#openItems.has(part), 'a part is added to an open item')
      this.#openItems.set(part, '')
    } else if (type.endsWith('part.done')) assertRule(this.#openItems.delete(part), 'a part is done once')
    else if (event.output_index !== undefined) this.#trackContent(event, type, item, part)
  }

  #trackContent(event: JsonObject, type: string, item: string, part: string): void {
    const isInPart = event.content_index !== undefined || event.summary_index !== undefined
    const key = isInPart ? part : item
    assertRule(this.#openItems.has(key), `${type} outside of what it belongs to`)
    // Audio is not a content part and has its own events.
    if (type.endsWith('.delta') && type !== 'response.audio.delta')
      this.#openItems.set(key, (this.#openItems.get(key) ?? '') + event.delta)
    const field = doneFields[type]
    if (field) assertRule(event[field] === this.#openItems.get(key), `${type} equals the sum of its deltas`)
  }

  assertComplete(output: unknown): void {
    assertRule(this.#openItems.size === 0, `everything is done, ${[...this.#openItems.keys()]} is not`)
    assertRule(
      isSameJson(asObjects(output), this.#doneItems),
      'the response holds the items as they were done',
    )
  }
}
