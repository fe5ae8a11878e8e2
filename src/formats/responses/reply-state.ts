import {
  asNumber,
  asObjects,
  asString,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import { flattenToolName } from '../call/call.ts'
import type { FinishReason, PartDelta, ReplyEvent } from '../call/event.ts'
import type { UpstreamFailure } from '../call/failure.ts'
import type { OutputPart, ToolCallPart } from '../call/part.ts'
import { decodeServedTier } from '../tier.ts'
import type { ServedTier } from '../vocabulary.ts'
import { decodeUsage } from './usage.ts'

/** A started part of the reply, with the content received so far. */
export interface OpenPart {
  number: number
  kind: OutputPart['kind']
  /** Text, arguments or transcript so far, to find what a `done` event adds. */
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
  /** The item as it was announced. */
  value: JsonObject
  isDone: boolean
  /** Content parts of a message by index; other items have one part, at 0. */
  parts: Map<number, OpenPart>
}

/** The state of one reply's reader; events are collected in `events`. */
export class ReplyState {
  events: ReplyEvent[] = []
  isOver = false
  hasItems = false
  webSearches = 0
  #hasStarted = false
  #tier: ServedTier | undefined
  /** The tools that the vendor echoes. */
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
    // `auto` is the requested tier; the served one comes with the last event.
    this.#tier = decodeServedTier(response.service_tier)
    this.#tools = asObjects(response.tools)
    this.events.push(omitUndefined({ type: 'reply-start' as const, id, model, serviceTier: this.#tier }))
  }

  decodeItemName(item: JsonObject) {
    return decodeItemName(item, this.#tools)
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

  /** The item of an event: by id, else by output index, else the last one. */
  findItem(event: JsonObject, item?: JsonObject): OpenItem | null {
    const id = asString(event.item_id) ?? asString(item?.id)
    const index = asNumber(event.output_index)
    const byId = id === undefined ? undefined : this.#byId.get(id)
    const byIndex = index === undefined ? undefined : this.#byIndex.get(index)
    if (byId) return byId
    // An unknown id at the index of a finished item is a new item.
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
    const toolCall = item.type === 'function_call' ? item.parts.get(0) : undefined
    if (toolCall?.text === '') this.addDelta(toolCall, { arguments: '{}' })
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

/** The name of a called tool; one that the request declares outside of namespaces has no namespace. */
function decodeItemName(item: JsonObject, tools: JsonObject[]): Pick<ToolCallPart, 'name' | 'namespace'> {
  const [name, namespace] = [asString(item.name) ?? '', asString(item.namespace) || undefined]
  const isTopLevel = tools.some((tool) => tool.type !== 'namespace' && tool.name === name)
  if (namespace === undefined || (isTopLevel && namespace !== name)) return { name }
  return { name: flattenToolName({ kind: 'custom', name, namespace }), namespace }
}

/** Types of tools that the client runs. */
const clientToolTypes = new Set(['function', 'custom', 'namespace', 'tool_search'])

/**
 * Whether the client must run a tool call. Vendors report their own tool runs as free-text calls, either with
 * the result or of a tool that the request did not declare.
 */
export function isClientCall(item: JsonObject, tools: JsonObject[]): boolean {
  if (item.type !== 'custom_tool_call') return item.type === 'function_call'
  if (item.output !== undefined && item.output !== null) return false
  const runsTools = tools.some(({ type }) => !clientToolTypes.has(asString(type) ?? ''))
  if (!runsTools) return true
  const declared = tools.flatMap((tool) => (tool.type === 'namespace' ? asObjects(tool.tools) : [tool]))
  return declared.some(({ name }) => name === item.name)
}
