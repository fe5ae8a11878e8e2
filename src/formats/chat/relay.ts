import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { SseFrame } from '../../platform/http/sse.ts'
import { asNumber, asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { Usage, UsageCost } from '../call/usage.ts'
import { decodeServedTier } from '../tier.ts'
import { encodeServiceMetadata, newReplySummary, type Relay, type ReplyContext } from '../wire-format.ts'
import { buildChunkHead, formatChunk, formatErrorChunk, formatLastChunks } from './chunk.ts'
import { decodeFailure, malformedReplyFailure } from './error.ts'
import {
  countContentCharacters,
  newRelayedChoice,
  normalizeChoice,
  type RelayedChoice,
  type RelayOptions,
  selectContent,
  takeMissingArguments,
} from './normalize.ts'
import { encodeTier } from './passthrough-reply.ts'
import {
  buildAnnotations,
  extractChoiceError,
  extractChunkError,
  maxChoices,
  parseChunk,
} from './reply-reader.ts'
import { buildSplice, type ChunkSplice, spliceAlike, spliceChunk } from './splice.ts'
import { decodeUsage, findUsage, mergeUsage } from './usage.ts'

export function createRelay(context: ReplyContext): Relay {
  return new ChatRelay(context)
}

/** Around the data of an event. */
const eventStart = 'data: '
const eventEnd = '\n\n'

/** Most chunks only get a new prefix; chunks that may carry more than a text delta are parsed. */
class ChatRelay implements Relay {
  readonly summary = newReplySummary()
  readonly finalBody = null
  readonly #context: ReplyContext
  readonly #head: JsonObject
  readonly #options: RelayOptions
  readonly #choices = new Map<number, RelayedChoice>()
  /** Number of choices. If there are several, every chunk is parsed, to know which are finished. */
  readonly #choiceCount: number
  #splice: ChunkSplice | null = null
  #usage: JsonObject | undefined
  /** Other fields of the vendor's usage chunk. */
  #extras: JsonObject = {}
  #annotations: JsonObject[] = []
  /** Chunks with finish reasons, held until the reply is settled because it may still fail. */
  readonly #heldChunks: JsonObject[] = []
  #isDone = false

  constructor(context: ReplyContext) {
    this.#context = context
    this.#head = { ...buildChunkHead(context), ...encodeTier({}, context) }
    const hidesReasoning = !context.isPlain && context.call.reasoning?.exclude === true
    this.#options = { hidesReasoning, replyId: context.id, isStream: true, formatNames: context.formatNames }
    this.#choiceCount = context.isPlain ? 1 : (context.call.n ?? 1)
  }

  pass(frame: SseFrame): string {
    const { data } = frame
    if (this.#isDone || this.summary.failure) return ''
    if (this.#splice && frame.event !== 'error' && !this.summary.isComplete) {
      const spliced = spliceChunk(this.#splice, data)
      if (spliced !== null) {
        this.#recordSplicedArguments(data, this.#splice)
        this.#recordSpliced(data.length, this.#splice)
        return spliced
      }
    }
    return this.#readChunk(data.trim(), frame.event === 'error')
  }

  passWhole(chunk: string): string | null {
    const { summary } = this
    if (!this.#splice || this.#isDone || summary.failure || summary.isComplete) return null
    if (!chunk.startsWith(eventStart) || !chunk.endsWith(eventEnd)) return null
    const end = chunk.length - eventEnd.length
    const spliced = spliceAlike(this.#splice, chunk, eventStart.length, end)
    if (spliced !== null) this.#recordSpliced(end - eventStart.length, this.#splice)
    return spliced
  }

  #recordSpliced(length: number, { overhead }: ChunkSplice): void {
    if (length <= overhead) return
    this.summary.characters += length - overhead
    this.summary.contentEvents++
  }

  end(usage: Usage, cost: UsageCost): string {
    const chunks = [...this.#heldChunks]
    for (const [index, choice] of this.#choices) {
      if (choice.finish) continue
      const reason = choice.toolCalls.size > 0 ? 'tool_calls' : 'stop'
      const delta = withMissingArguments({}, choice)
      const ending = { index, delta, finish_reason: reason, native_finish_reason: null, logprobs: null }
      chunks.push({ ...this.#head, choices: [ending] })
    }
    const usageObject = mergeUsage(this.#usage, usage, cost)
    const finalFields = {
      ...this.#extras,
      ...this.#head,
      usage: usageObject,
      ...encodeServiceMetadata(this.#context),
    }
    return formatLastChunks(chunks, finalFields, this.#context)
  }

  /** Sends the content of held chunks without their finish reasons. */
  fail(error: GatewayError): string {
    const unfinished = this.#heldChunks.map((chunk) => ({
      ...chunk,
      choices: asObjects(chunk.choices).map(clearFinishReason),
    }))
    const nonEmpty = unfinished.filter(({ choices }) =>
      choices.some((choice) => countContentCharacters(asObject(choice.delta) ?? {}) > 0),
    )
    return nonEmpty.map(formatChunk).join('') + formatErrorChunk(this.#head, error)
  }

  /** A spliced tool call delta carries arguments of the tool call with its index. */
  #recordSplicedArguments(data: string, { toolCalls }: ChunkSplice): void {
    const at = data.indexOf(toolCalls.numbered)
    if (at === -1) return
    const number = Number.parseInt(data.slice(at + toolCalls.numbered.length), 10)
    for (const choice of this.#choices.values()) {
      const toolCall = choice.toolCalls.all[number]
      if (toolCall) toolCall.hasArguments = true
    }
  }

  #readChunk(data: string, isError: boolean): string {
    if (data === '') return ''
    if (data === '[DONE]') return this.#markDone()
    const chunk = parseChunk(data)
    if (!chunk) {
      // Once every choice is finished, only usage can be missing.
      if (this.summary.isComplete) return ''
      this.summary.failure = malformedReplyFailure('The provider sent an event that is not a JSON object.')
      return ''
    }
    const choiceFailure = asObjects(chunk.choices)
      .map(extractChoiceError)
      .find((failure) => failure !== undefined)
    const error = extractChunkError(chunk, isError) ?? choiceFailure
    this.#recordChunk(chunk)
    if (error !== undefined) {
      this.summary.failure = decodeFailure(error, null)
      return ''
    }
    return Array.isArray(chunk.choices) ? this.#relayChunk(chunk, data) : ''
  }

  #markDone(): string {
    this.#isDone = true
    if (this.#choices.size === 0)
      this.summary.failure = malformedReplyFailure('The provider sent an empty reply.')
    else this.summary.isComplete = true
    return ''
  }

  #recordChunk(chunk: JsonObject): void {
    this.summary.model ??= asString(chunk.model) ?? null
    this.summary.tier = decodeServedTier(chunk.service_tier) ?? this.summary.tier
    Object.assign(this.#head, encodeTier(chunk, this.#context))
    const usage = findUsage(chunk)
    if (usage) {
      this.#usage = usage
      this.summary.usage = decodeUsage(usage)
    }
    const annotations = buildAnnotations(chunk)
    if (annotations.length > 0) this.#annotations = annotations
  }

  #relayChunk(chunk: JsonObject, data: string): string {
    const { usage, choices: _choices, ...rest } = chunk
    const choiceObjects = asObjects(chunk.choices)
    // The usage chunk is held until the cost is known.
    if (choiceObjects.length === 0 && asObject(usage)) {
      this.#extras = rest
      return ''
    }
    const choices = choiceObjects
      .map((choice) => this.#relayChoice(choice))
      .filter((choice) => choice !== null)
    this.#updateFinishReasons()
    const relayed = { ...rest, ...this.#head, choices }
    if (this.summary.isComplete || choices.some((choice) => choice.finish_reason !== null)) {
      this.#heldChunks.push(relayed)
      return ''
    }
    if (this.#choiceCount === 1 && this.summary.hasContent) {
      const { hidesReasoning, formatNames } = this.#options
      const readsReasoning = hidesReasoning || formatNames === 'neutral'
      this.#splice = buildSplice(chunk, data, this.#head, readsReasoning, this.#areIndexesUnchanged())
    }
    return formatChunk(relayed)
  }

  #relayChoice(original: JsonObject): JsonObject | null {
    const index = asNumber(original.index) ?? 0
    let state = this.#choices.get(index)
    if (!state) {
      if (this.#choices.size >= maxChoices) return null
      state = newRelayedChoice()
      this.#choices.set(index, state)
    }
    const length = countContentCharacters(selectContent(original, false, state.hasContent))
    this.summary.characters += length
    if (length > 0) {
      this.summary.hasContent = true
      this.summary.contentEvents++
    }
    const toolCallCount = state.toolCalls.size
    const choice = normalizeChoice({ ...original, index }, state, this.#options)
    if (state.finish && choice.delta) choice.delta = withMissingArguments(asObject(choice.delta) ?? {}, state)
    this.summary.partCount += state.toolCalls.size - toolCallCount
    const delta = asObject(choice.delta)
    if (state.finish && index === 0 && this.#annotations.length > 0 && delta && !delta.annotations) {
      choice.delta = { ...delta, annotations: this.#annotations }
      this.#annotations = []
    }
    return choice
  }

  /** The stream ended: an upstream that sent fewer choices than requested is complete with those. */
  close(): string {
    if (!this.summary.isComplete) this.#updateFinishReasons(1)
    return ''
  }

  #updateFinishReasons(expected = this.#choiceCount): void {
    const finishReasons = [...this.#choices.entries()]
      .sort(([a], [b]) => a - b)
      .map(([, { finish }]) => finish)
    this.summary.finishReasons = finishReasons.filter((finish) => finish !== null)
    this.summary.isComplete =
      finishReasons.length >= expected && this.summary.finishReasons.length === finishReasons.length
  }

  #areIndexesUnchanged(): boolean {
    return [...this.#choices.values()].every((choice) => !choice.isRenumbered)
  }
}

function withMissingArguments(delta: JsonObject, state: RelayedChoice): JsonObject {
  const missing = takeMissingArguments(state)
  return missing.length > 0 ? { ...delta, tool_calls: [...asObjects(delta.tool_calls), ...missing] } : delta
}

function clearFinishReason(choice: JsonObject): JsonObject {
  return { ...choice, finish_reason: null, native_finish_reason: null }
}
