import type { Bill, Usage } from '../../call/usage.ts'
import type { GatewayError } from '../../errors.ts'
import { defined, type JsonObject, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import type { SseFrame } from '../../lib/sse.ts'
import { explained, nothingSeen, type Relay, type ReplyFacts } from '../dialect.ts'
import { frame as frameOf } from './block-frames.ts'
import { brokenReply, errorEvent, failureOf } from './error.ts'
import { parseEvent } from './reply-read.ts'
import { skeleton } from './reply-write.ts'
import { readStop } from './stop.ts'
import { billedUsage, emptyUsage, mergeUsage, readTier, readUsage, tierName } from './usage.ts'

/** Passes a stream of this format on. Only its first and last events are opened. */
class MessagesRelay implements Relay {
  readonly seen = nothingSeen()
  readonly final = null
  readonly #about: ReplyFacts
  #usage: JsonObject = {}
  #finish: JsonObject = {}
  #stop: JsonObject = {}
  #calledTools = false
  #isWhole = false

  constructor(about: ReplyFacts) {
    this.#about = about
  }

  pass(frame: SseFrame): string {
    const { data } = frame
    if (this.seen.complete || this.seen.failure || data === '[DONE]') return ''
    const type = typeOf(frame)
    const cut = !data.endsWith('}') || (frame.unended && !parseEvent(data))
    if (type === undefined || cut) return this.#broken()
    switch (type) {
      case 'content_block_delta':
        if (!isEmptyDelta(data)) {
          this.seen.content = true
          this.seen.progress++
          this.seen.characters += characters(data)
        }
        return raw(type, data)
      case 'content_block_start':
        this.seen.content = true
        this.seen.parts++
        this.seen.progress++
        if (data.includes('"tool_use"')) this.#calledTools = true
        return raw(type, data)
      case 'message_start':
      case 'message_delta':
      case 'message_stop':
      case 'error':
        return this.#opened(type, data)
      default:
        return raw(type, data)
    }
  }

  end(usage: Usage, bill: Bill): string {
    const delta = {
      container: null,
      stop_details: null,
      stop_reason: 'end_turn',
      stop_sequence: null,
      ...objectOf(this.#finish.delta),
    }
    const finish = { ...this.#finish, delta, usage: billedUsage(this.#usage, usage, bill, this.#about) }
    return (
      frameOf('message_delta', finish) + frameOf('message_stop', { ...this.#stop, ...explained(this.#about) })
    )
  }

  fail(error: GatewayError): string {
    return errorEvent(error, this.#about.id)
  }

  #broken(): string {
    this.seen.failure = brokenReply('The upstream sent an event that is not a JSON object.')
    return ''
  }

  #opened(type: string, data: string): string {
    const event = parseEvent(data)
    if (!event) return this.#broken()
    if (type === 'message_start') return this.#start(event)
    if (type === 'message_delta') this.#keepFinish(event)
    else if (type === 'message_stop') {
      this.#stop = event
      this.seen.complete = true
      this.seen.finishes[0] ??= { reason: readStop({}, this.#calledTools).reason, native: null }
    } else this.seen.failure = failureOf(objectOf(event.error) ?? {}, null)
    return ''
  }

  #start(event: JsonObject): string {
    const message = objectOf(event.message) ?? {}
    this.seen.model = textOf(message.model) ?? null
    this.#count(message.usage)
    const { id, model, provider } = this.#about
    const usage = { ...emptyUsage, service_tier: tierName(this.#about.tier), ...objectOf(message.usage) }
    this.#seeContent(message)
    const unstopped = { stop_reason: null, stop_sequence: null, stop_details: null }
    const spliced = { ...skeleton(this.#about), ...message, ...unstopped, id, model, provider, usage }
    return frameOf('message_start', { ...event, message: spliced })
  }

  /** A first event may have all of the message. How it stopped is told with the bill. */
  #seeContent({ content, stop_reason, stop_sequence, stop_details }: JsonObject): void {
    const blocks = objectsOf(content)
    if (blocks.length > 0) {
      this.seen.content = true
      this.seen.characters += JSON.stringify(blocks).length
      this.#calledTools = blocks.some(({ type }) => type === 'tool_use')
    }
    if (textOf(stop_reason) === undefined) return
    this.#isWhole = true
    this.#keepFinish({ delta: defined({ stop_reason, stop_sequence, stop_details }) })
  }

  /** Nothing needs to follow a first event that has all. */
  close(): string {
    if (this.#isWhole && !this.seen.failure) this.seen.complete = true
    return ''
  }

  #keepFinish(event: JsonObject): void {
    // In place: copied for each event, fields that grow with every event would take the square of their number.
    const delta = Object.assign(objectOf(this.#finish.delta) ?? {}, objectOf(event.delta))
    Object.assign(this.#finish, event, { delta })
    this.#count(event.usage)
    const { reason, native } = readStop(delta, this.#calledTools)
    if (native !== null) this.seen.finishes[0] = { reason, native }
  }

  #count(usage: unknown): void {
    if (!objectOf(usage)) return
    this.#usage = mergeUsage(this.#usage, usage)
    this.seen.usage = readUsage(this.#usage)
    this.seen.tier = readTier(this.#usage) ?? null
  }
}

export function relay(about: ReplyFacts): Relay {
  return new MessagesRelay(about)
}

const typeFirst = '{"type":"'

/** Without parsing where the type is the first field, as it nearly always is. */
function typeOf({ event, data }: SseFrame): string | undefined {
  if (data.startsWith(typeFirst)) return data.slice(typeFirst.length, data.indexOf('"', typeFirst.length))
  const parsed = parseEvent(data)
  return parsed && (textOf(parsed.type) ?? (parsed.error ? 'error' : event))
}

/** As it came. */
function raw(type: string, data: string): string {
  const lines = data.includes('\n') ? data.replaceAll('\n', '\ndata: ') : data
  return type === '' ? `data: ${lines}\n\n` : `event: ${type}\ndata: ${lines}\n\n`
}

/** What is around the text of a delta. An estimate: it counts only when a stream breaks off without usage. */
const around = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}'.length

const emptyField = /"(?:text|thinking|partial_json)":\s*""/

/** A quote within a string is escaped: what looks like an empty field is one. */
function isEmptyDelta(data: string): boolean {
  return data.includes('""') && emptyField.test(data)
}

function characters(data: string): number {
  return data.includes('"signature_delta"') ? 0 : Math.max(0, data.length - around)
}

export function passReply(body: JsonObject, about: ReplyFacts, bill: Bill, usage: Usage): JsonObject {
  const { id, model, provider } = about
  const told = objectOf(body.usage) ?? {}
  return {
    ...skeleton(about),
    ...body,
    id,
    model,
    provider,
    usage: billedUsage(told, usage, bill, about),
    ...explained(about),
  }
}
