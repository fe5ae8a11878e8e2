import { type JsonObject, objectOf, objectsOf } from '../../lib/loose.ts'
import type { SseFrame } from '../../lib/sse.ts'
import { sameJson } from './compare-request.ts'
import { rule } from './rule.ts'

const closes: Record<string, string> = {
  'response.output_text.done': 'text',
  'response.refusal.done': 'refusal',
  'response.function_call_arguments.done': 'arguments',
  'response.custom_tool_call_input.done': 'input',
  'response.reasoning_text.done': 'text',
  'response.reasoning_summary_text.done': 'text',
}

/** Numbered events; items and their parts are added, filled and done; the last event has the whole response. */
export function checkResponses(frames: SseFrame[]): void {
  const events = frames.map((frame) => {
    const event = JSON.parse(frame.data) as JsonObject
    rule(frame.event === event.type, 'the name of an event is its type')
    return event
  })
  const walk = new Walk()
  events.forEach((event, at) => {
    rule(event.sequence_number === at, 'events are numbered without gaps')
    walk.event(event)
  })
  rule(events[0]?.type === 'response.created', 'the first event is response.created')
  const last = events.at(-1)
  rule(
    ['response.completed', 'response.incomplete'].includes(String(last?.type)),
    'it ends with the response',
  )
  walk.close(objectOf(last?.response)?.output)
}

class Walk {
  readonly #open = new Map<string, string>()
  readonly #done: JsonObject[] = []
  #items = 0

  event(event: JsonObject): void {
    const type = String(event.type)
    const item = `item ${event.output_index}`
    const part = `${item} part ${event.content_index ?? ''}/${event.summary_index ?? ''}`
    if (type === 'response.output_item.added') {
      rule(event.output_index === this.#items++, 'items are numbered in order')
      this.#open.set(item, '')
    } else if (type === 'response.output_item.done') {
      rule(this.#open.delete(item), 'an item is done once, after it was added')
      this.#done[Number(event.output_index)] = objectOf(event.item) ?? {}
    } else if (type.endsWith('part.added')) {
      rule(this.#open.has(item) && !this.#open.has(part), 'a part is added to an open item')
      this.#open.set(part, '')
    } else if (type.endsWith('part.done')) rule(this.#open.delete(part), 'a part is done once')
    else if (event.output_index !== undefined) this.#inside(event, type, item, part)
  }

  #inside(event: JsonObject, type: string, item: string, part: string): void {
    const inPart = event.content_index !== undefined || event.summary_index !== undefined
    const key = inPart ? part : item
    rule(this.#open.has(key), `${type} outside of what it belongs to`)
    // Sound stands beside the words and has its own events.
    if (type.endsWith('.delta') && type !== 'response.audio.delta')
      this.#open.set(key, (this.#open.get(key) ?? '') + event.delta)
    const field = closes[type]
    if (field) rule(event[field] === this.#open.get(key), `${type} says what its deltas said`)
  }

  close(output: unknown): void {
    rule(this.#open.size === 0, `everything is done, ${[...this.#open.keys()]} is not`)
    rule(sameJson(objectsOf(output), this.#done), 'the response holds the items as they were done')
  }
}
