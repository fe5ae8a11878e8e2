import { flattenToolName } from '../../call/call.ts'
import type { FinishReason, PartDelta, ReplyEvent } from '../../call/event.ts'
import type { UpstreamFailure } from '../../call/failure.ts'
import type { OutputPart } from '../../call/part.ts'
import type { ServedTier } from '../../catalogue/vocabulary.ts'
import { asNumber, asObjects, asString, type JsonObject, omitUndefined } from '../../lib/json-values.ts'
import { decodeServedTier } from '../tier.ts'
import { decodeUsage } from './usage.ts'

/** A part of the reply that has begun, and how much of it came. */
export interface OpenPart {
  number: number
  kind: OutputPart['kind']
  /** Text, arguments or transcript so far: what a `done` brings beyond it was in no delta. */
  text: string
  data: string
  summaries: string[]
  citationCount: number
  logprobCount: number
  isEnded: boolean
}

/** An output item of the vendor. */
export interface OpenItem {
  type: string
  /** As it was announced. */
  value: JsonObject
  isDone: boolean
  /** Of a message, its contents by index; of other items the one part, at 0. */
  parts: Map<number, OpenPart>
}

/** What a reader of one reply remembers; its events gather in `out`. */
export class ReplyState {
  events: ReplyEvent[] = []
  isOver = false
  hasItems = false
  webSearches = 0
  #hasStarted = false
  #tier: ServedTier | undefined
  /** As the vendor repeats them. */
  #tools: JsonObject[] = []
  #partCount = 0
  #hasToolCalls = false
  readonly #byId = new Map<string, OpenItem>()
  readonly #byIndex = new Map<number, OpenItem>()
  #last: OpenItem | null = null

  startReply(response: JsonObject): void {
    if (this.#hasStarted) return
    this.#hasStarted = true
    const [id, model] = [asString(response.id), asString(response.model)]
    // `auto` is the wish; which tier it became is told at the end.
    this.#tier = decodeServedTier(response.service_tier)
    this.#tools = asObjects(response.tools)
    this.events.push(omitUndefined({ type: 'reply-start' as const, id, model, serviceTier: this.#tier }))
  }

  isClientCall(item: JsonObject): boolean {
    return isClientCall(item, this.#tools)
  }

  updateTier(response: JsonObject): void {
    const tier = decodeServedTier(response.service_tier)
    if (tier === undefined || tier === this.#tier) return
    this.events.push({ type: 'reply-start', serviceTier: tier })
  }

  openItem(event: JsonObject, item: JsonObject): OpenItem {
    const open: OpenItem = { type: asString(item.type) ?? '', value: item, isDone: false, parts: new Map() }
    const [id, index] = [asString(item.id) ?? asString(event.item_id), asNumber(event.output_index)]
    if (id !== undefined) this.#byId.set(id, open)
    if (index !== undefined) this.#byIndex.set(index, open)
    this.#last = open
    this.hasItems = true
    return open
  }

  /** The item an event is about: by its id, else by its place, else the last one. */
  findItem(event: JsonObject, item?: JsonObject): OpenItem | null {
    const id = asString(event.item_id) ?? asString(item?.id)
    const index = asNumber(event.output_index)
    const byId = id === undefined ? undefined : this.#byId.get(id)
    const byIndex = index === undefined ? undefined : this.#byIndex.get(index)
    if (byId) return byId
    // An unknown id at the place of something finished is something new.
    if (byIndex && !(id !== undefined && byIndex.isDone)) return byIndex
    return id === undefined && index === undefined ? this.#last : null
  }

  startPart(item: OpenItem, index: number, content: OutputPart): OpenPart {
    const part: OpenPart = {
      number: this.#partCount++,
      kind: content.kind,
      text: '',
      data: '',
      summaries: [],
      citationCount: 0,
      logprobCount: 0,
      isEnded: false,
    }
    item.parts.set(index, part)
    if (content.kind === 'tool-call') this.#hasToolCalls = true
    this.events.push({ type: 'part-start', choice: 0, part: part.number, content })
    return part
  }

  addDelta(part: OpenPart, delta: PartDelta): void {
    if (!part.isEnded) this.events.push({ type: 'part-delta', choice: 0, part: part.number, delta })
  }

  endPart(part: OpenPart): void {
    if (part.isEnded) return
    part.isEnded = true
    this.events.push({ type: 'part-end', choice: 0, part: part.number })
  }

  endItem(item: OpenItem): void {
    item.isDone = true
    const call = item.type === 'function_call' ? item.parts.get(0) : undefined
    if (call?.text === '') this.addDelta(call, { arguments: '{}' })
    for (const part of item.parts.values()) this.endPart(part)
  }

  endAll(): void {
    for (const item of this.#byId.values()) this.endItem(item)
    for (const item of this.#byIndex.values()) this.endItem(item)
    if (this.#last) this.endItem(this.#last)
  }

  fail(failure: UpstreamFailure): void {
    this.isOver = true
    this.events.push({ type: 'reply-error', failure })
  }

  finish(response: JsonObject, reason: FinishReason, native: string): void {
    this.isOver = true
    this.endAll()
    this.updateTier(response)
    const finishReason = reason === 'stop' && this.#hasToolCalls ? 'tool_calls' : reason
    this.events.push({ type: 'choice-end', choice: 0, reason: finishReason, native })
    this.addUsage(response)
    this.events.push({ type: 'reply-end' })
  }

  addUsage(response: JsonObject): void {
    const usage = decodeUsage(response.usage, this.webSearches)
    if (usage) this.events.push({ type: 'usage', usage })
  }
}

export function flattenItemName(item: JsonObject): string {
  const [name, namespace] = [asString(item.name) ?? '', asString(item.namespace)]
  return namespace === undefined ? name : flattenToolName({ kind: 'custom', name, namespace })
}

/** Tools that vendors do not run themselves. */
const clientToolTypes = new Set(['function', 'custom', 'namespace', 'tool_search'])

/**
 * Whether a call is for the client to answer. A vendor that runs tools of its own may tell of it by free-text
 * calls: with the result, or of tools that are not among those it repeats from the request.
 */
export function isClientCall(item: JsonObject, tools: JsonObject[]): boolean {
  if (item.type !== 'custom_tool_call') return item.type === 'function_call'
  if (item.output !== undefined && item.output !== null) return false
  const runsTools = tools.some(({ type }) => !clientToolTypes.has(asString(type) ?? ''))
  if (!runsTools) return true
  const declared = tools.flatMap((tool) => (tool.type === 'namespace' ? asObjects(tool.tools) : [tool]))
  return declared.some(({ name }) => name === item.name)
}
