import { flatToolName } from '../../call/call.ts'
import type { FinishReason, PartDelta, ReplyEvent } from '../../call/event.ts'
import type { UpstreamFailure } from '../../call/failure.ts'
import type { OutputPart } from '../../call/part.ts'
import type { ServedTier } from '../../catalog/vocabulary.ts'
import { defined, type JsonObject, numberOf, objectsOf, textOf } from '../../lib/loose.ts'
import { servedTier } from '../tier.ts'
import { decodeUsage } from './usage.ts'

/** A part of the reply that has begun, and how much of it came. */
export interface OpenPart {
  number: number
  kind: OutputPart['kind']
  /** Text, arguments or transcript so far: what a `done` brings beyond it was in no delta. */
  text: string
  data: string
  sections: string[]
  citations: number
  logprobs: number
  ended: boolean
}

/** An output item of the vendor. */
export interface OpenItem {
  type: string
  /** As it was announced. */
  value: JsonObject
  done: boolean
  /** Of a message, its contents by index; of other items the one part, at 0. */
  parts: Map<number, OpenPart>
}

/** What a reader of one reply remembers; its events gather in `out`. */
export class ReplyState {
  out: ReplyEvent[] = []
  over = false
  anyItem = false
  searches = 0
  #started = false
  #tier: ServedTier | undefined
  /** As the vendor repeats them. */
  #tools: JsonObject[] = []
  #parts = 0
  #toolCalls = false
  readonly #byId = new Map<string, OpenItem>()
  readonly #byIndex = new Map<number, OpenItem>()
  #last: OpenItem | null = null

  startReply(response: JsonObject): void {
    if (this.#started) return
    this.#started = true
    const [id, model] = [textOf(response.id), textOf(response.model)]
    // `auto` is the wish; which tier it became is told at the end.
    this.#tier = servedTier(response.service_tier)
    this.#tools = objectsOf(response.tools)
    this.out.push(defined({ type: 'reply-start' as const, id, model, serviceTier: this.#tier }))
  }

  isClientCall(item: JsonObject): boolean {
    return isClientCall(item, this.#tools)
  }

  settleTier(response: JsonObject): void {
    const tier = servedTier(response.service_tier)
    if (tier === undefined || tier === this.#tier) return
    this.out.push({ type: 'reply-start', serviceTier: tier })
  }

  openItem(event: JsonObject, item: JsonObject): OpenItem {
    const opened: OpenItem = { type: textOf(item.type) ?? '', value: item, done: false, parts: new Map() }
    const [id, index] = [textOf(item.id) ?? textOf(event.item_id), numberOf(event.output_index)]
    if (id !== undefined) this.#byId.set(id, opened)
    if (index !== undefined) this.#byIndex.set(index, opened)
    this.#last = opened
    this.anyItem = true
    return opened
  }

  /** The item an event is about: by its id, else by its place, else the last one. */
  findItem(event: JsonObject, item?: JsonObject): OpenItem | null {
    const id = textOf(event.item_id) ?? textOf(item?.id)
    const index = numberOf(event.output_index)
    const byId = id === undefined ? undefined : this.#byId.get(id)
    const byIndex = index === undefined ? undefined : this.#byIndex.get(index)
    if (byId) return byId
    // An unknown id at the place of something finished is something new.
    if (byIndex && !(id !== undefined && byIndex.done)) return byIndex
    return id === undefined && index === undefined ? this.#last : null
  }

  startPart(item: OpenItem, index: number, content: OutputPart): OpenPart {
    const part: OpenPart = {
      number: this.#parts++,
      kind: content.kind,
      text: '',
      data: '',
      sections: [],
      citations: 0,
      logprobs: 0,
      ended: false,
    }
    item.parts.set(index, part)
    if (content.kind === 'tool-call') this.#toolCalls = true
    this.out.push({ type: 'part-start', choice: 0, part: part.number, content })
    return part
  }

  delta(part: OpenPart, delta: PartDelta): void {
    if (!part.ended) this.out.push({ type: 'part-delta', choice: 0, part: part.number, delta })
  }

  endPart(part: OpenPart): void {
    if (part.ended) return
    part.ended = true
    this.out.push({ type: 'part-end', choice: 0, part: part.number })
  }

  endItem(item: OpenItem): void {
    item.done = true
    const call = item.type === 'function_call' ? item.parts.get(0) : undefined
    if (call?.text === '') this.delta(call, { arguments: '{}' })
    for (const part of item.parts.values()) this.endPart(part)
  }

  endAll(): void {
    for (const item of this.#byId.values()) this.endItem(item)
    for (const item of this.#byIndex.values()) this.endItem(item)
    if (this.#last) this.endItem(this.#last)
  }

  fail(failure: UpstreamFailure): void {
    this.over = true
    this.out.push({ type: 'reply-error', failure })
  }

  finish(response: JsonObject, reason: FinishReason, native: string): void {
    this.over = true
    this.endAll()
    this.settleTier(response)
    const told = reason === 'stop' && this.#toolCalls ? 'tool_calls' : reason
    this.out.push({ type: 'choice-end', choice: 0, reason: told, native })
    this.tellUsage(response)
    this.out.push({ type: 'reply-end' })
  }

  tellUsage(response: JsonObject): void {
    const usage = decodeUsage(response.usage, this.searches)
    if (usage) this.out.push({ type: 'usage', usage })
  }
}

export function flatName(item: JsonObject): string {
  const [name, namespace] = [textOf(item.name) ?? '', textOf(item.namespace)]
  return namespace === undefined ? name : flatToolName({ kind: 'custom', name, namespace })
}

/** Tools that vendors do not run themselves. */
const ofClients = new Set(['function', 'custom', 'namespace', 'tool_search'])

/**
 * Whether a call is for the client to answer. A vendor that runs tools of its own may tell of it by free-text
 * calls: with the result, or of tools that are not among those it repeats from the request.
 */
export function isClientCall(item: JsonObject, tools: JsonObject[]): boolean {
  if (item.type !== 'custom_tool_call') return item.type === 'function_call'
  if (item.output !== undefined && item.output !== null) return false
  const runsTools = tools.some(({ type }) => !ofClients.has(textOf(type) ?? ''))
  if (!runsTools) return true
  const declared = tools.flatMap((tool) => (tool.type === 'namespace' ? objectsOf(tool.tools) : [tool]))
  return declared.some(({ name }) => name === item.name)
}
