import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { SseFrame } from '../../platform/http/sse.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { Usage, UsageCost } from '../call/usage.ts'
import {
  encodeServiceMetadata,
  newReplySummary,
  type Relay,
  type ReplyContext,
  type ReplySummary,
} from '../wire-format.ts'
import { decodeError, encodeError } from './error.ts'
import { decodeFinishReason } from './finish-reason.ts'
import { countSearches } from './grounding.ts'
import { isDoneMarker, maxCandidates, parseChunks } from './reply-reader.ts'
import { formatFrame } from './reply-writer.ts'
import { decodeTier, decodeUsage, encodeCost, encodeServedTier, encodeUsage } from './usage.ts'

/** Held chunks: the last one of each candidate, and those that only carry usage. */
const maxHeldChunks = 1000

interface CandidateState {
  finishReason: string | null
  hasToolCalls: boolean
  hasContent: boolean
  searchCount: number
}

/** Passes chunks through with the gateway's model name and id. Final chunks are held until the cost is known. */
export class GeminiRelay implements Relay {
  readonly finalBody = null
  readonly summary: ReplySummary = newReplySummary()
  readonly #context: ReplyContext
  readonly #candidates = new Map<number, CandidateState>()
  readonly #heldChunks: JsonObject[] = []
  readonly #usageMetadata: JsonObject = {}
  #isOver = false

  constructor(context: ReplyContext) {
    this.#context = context
    Object.defineProperty(this.summary, 'usage', { enumerable: true, get: () => this.#computeUsage() })
  }

  pass(frame: SseFrame): string {
    if (this.#isOver || this.summary.failure || frame.data.trim() === '') return ''
    if (isDoneMarker(frame)) {
      this.close()
      this.#isOver = this.summary.isComplete
      return ''
    }
    const chunks = parseChunks(frame.data)
    if (!chunks) {
      const message = 'The provider sent an event that is not a JSON object.'
      this.summary.failure = { kind: 'provider_unavailable', status: null, message }
      return ''
    }
    const isSingleChunk = chunks.length === 1 && !frame.data.includes('\n') && !frame.data.startsWith('[')
    return chunks.map((chunk) => this.#passChunk(chunk, isSingleChunk ? frame.data : null)).join('')
  }

  end(usage: Usage, cost: UsageCost): string {
    const held = this.#heldChunks.slice(0, -1)
    const last = this.#heldChunks.at(-1) ?? { candidates: [] }
    const reportedUsage = asObject(last.usageMetadata)
    const counts = this.#computeUsage()
      ? { ...this.#usageMetadata, ...reportedUsage }
      : { ...this.#usageMetadata, ...encodeUsage(usage, cost) }
    const usageMetadata = { ...encodeServedTier(this.#context.tier), ...counts, ...encodeCost(cost) }
    const lastChunk = { ...last, usageMetadata, ...encodeServiceMetadata(this.#context) }
    return [...held, lastChunk].map((chunk) => formatFrame(this.#replaceIdentity(chunk))).join('')
  }

  /** Sends the content of held chunks without their finish reasons. */
  fail(error: GatewayError): string {
    const contentFrames = this.#heldChunks
      .flatMap(removeFinishReasons)
      .map((chunk) => formatFrame(this.#replaceIdentity(chunk)))
    return contentFrames.join('') + formatFrame(encodeError(error, this.#context.id))
  }

  #passChunk(chunk: JsonObject, raw: string | null): string {
    if (this.summary.failure) return ''
    if (chunk.error !== undefined && chunk.error !== null) {
      this.summary.failure = decodeError(null, chunk)
      return ''
    }
    this.#recordChunk(chunk)
    const candidates = asObjects(chunk.candidates)
    const isFinishing =
      candidates.length === 0 || candidates.some((candidate) => asString(candidate.finishReason))
    if (isFinishing) {
      if (this.#heldChunks.length >= maxHeldChunks) {
        const message = 'The provider sent too many chunks after its candidates had finished.'
        this.summary.failure = { kind: 'provider_unavailable', status: null, message }
      } else this.#heldChunks.push(chunk)
      return ''
    }
    const spliced = raw === null ? null : spliceIdentity(raw, this.#context)
    return spliced === null ? formatFrame(this.#replaceIdentity(chunk)) : `data: ${spliced}\n\n`
  }

  #replaceIdentity(chunk: JsonObject): JsonObject {
    return { ...chunk, modelVersion: this.#context.model, responseId: this.#context.id }
  }

  #recordChunk(chunk: JsonObject): void {
    this.summary.model ??= asString(chunk.modelVersion) ?? null
    const candidates = asObjects(chunk.candidates)
    for (const candidate of candidates) this.#recordCandidate(candidate)
    const blocked = asString(asObject(chunk.promptFeedback)?.blockReason)
    if (blocked && this.#candidates.size === 0) {
      this.summary.finishReasons = [{ reason: 'content_filter', native: blocked }]
      this.summary.isComplete = true
    }
    const meta = asObject(chunk.usageMetadata)
    if (meta) this.summary.tier = decodeTier(Object.assign(this.#usageMetadata, meta)) ?? null
    const isFinishing = candidates.some((candidate) => asString(candidate.finishReason))
    if (isFinishing || (this.summary.isComplete && candidates.length > 0)) this.#recordFinishReasons()
  }

  #recordCandidate(candidate: JsonObject): void {
    const index = typeof candidate.index === 'number' ? candidate.index : 0
    const existing = this.#candidates.get(index)
    if (!existing && this.#candidates.size >= maxCandidates) return
    const state = existing ?? { finishReason: null, hasToolCalls: false, hasContent: false, searchCount: 0 }
    this.#candidates.set(index, state)
    for (const part of asObjects(asObject(candidate.content)?.parts)) {
      const length = countCharacters(part)
      this.summary.characters += length
      if (length > 0 || Object.keys(part).some((key) => key !== 'text')) {
        this.summary.hasContent = true
        this.summary.contentEvents++
      }
      state.hasToolCalls ||= part.functionCall !== undefined
      state.hasContent ||= part.thought !== true && (part.text === undefined || part.text !== '')
      this.#recordToolCall(index, asObject(part.functionCall))
    }
    state.finishReason = asString(candidate.finishReason) ?? state.finishReason
    state.searchCount = Math.max(state.searchCount, countSearches(candidate))
  }

  /** Arguments are an object and so always valid; a streamed call has its name only once. */
  #recordToolCall(choice: number, toolCall: JsonObject | undefined): void {
    const name = asString(toolCall?.name)
    if (!name) return
    const { toolCalls } = this.summary
    this.summary.partCount++
    toolCalls.push({ choice, part: toolCalls.length, name, arguments: '', custom: false })
  }

  /** Computed on demand: a stream has hundreds of chunks, each with its own usage. */
  #computeUsage(): Usage | null {
    let searches = 0
    for (const state of this.#candidates.values()) searches += state.searchCount
    return decodeUsage(this.#usageMetadata, searches)
  }

  /** End of the stream: the reply may be complete with fewer candidates than requested. */
  close(): string {
    if (!this.summary.isComplete && this.#candidates.size > 0) this.#recordFinishReasons(1)
    return ''
  }

  #recordFinishReasons(expected = this.#context.call.n ?? 1): void {
    const all = [...this.#candidates].sort(([a], [b]) => a - b)
    this.summary.isComplete =
      all.length >= expected && all.every(([, { finishReason }]) => finishReason !== null)
    this.summary.finishReasons = all.flatMap(([, { finishReason, ...state }]) =>
      finishReason === null
        ? []
        : [{ reason: decodeFinishReason(finishReason, state), native: finishReason }],
    )
  }
}

function removeFinishReasons(chunk: JsonObject): JsonObject[] {
  const candidates = asObjects(chunk.candidates)
    .filter((candidate) => asObjects(asObject(candidate.content)?.parts).length > 0)
    .map(({ finishReason, finishMessage, ...candidate }) => candidate)
  return candidates.length > 0 ? [{ ...chunk, candidates }] : []
}

function countCharacters(part: JsonObject): number {
  if (typeof part.text === 'string') return part.text.length
  const toolCall = asObject(part.functionCall)
  return toolCall ? JSON.stringify(toolCall).length : 0
}

/**
 * Replaces two values in the raw chunk, so that unknown fields and large numbers stay unchanged. Null when a
 * key does not occur exactly once; the parsed chunk is written instead.
 */
function spliceIdentity(raw: string, context: ReplyContext): string | null {
  const renamed = spliceValue(raw, '"modelVersion"', context.model)
  return renamed === null ? null : spliceValue(renamed, '"responseId"', context.id)
}

const stringValuePattern = /\s*:\s*"(?:[^"\\]|\\.)*"/y

function spliceValue(raw: string, key: string, value: string): string | null {
  const at = raw.lastIndexOf(key)
  if (at === -1 || raw.indexOf(key) !== at) return null
  stringValuePattern.lastIndex = at + key.length
  const match = stringValuePattern.exec(raw)
  if (!match) return null
  return `${raw.slice(0, at)}${key}:${JSON.stringify(value)}${raw.slice(at + key.length + match[0].length)}`
}

export function passReply(
  body: JsonObject,
  context: ReplyContext,
  cost: UsageCost,
  usage: Usage,
): JsonObject {
  const reportedUsage = asObject(body.usageMetadata) ?? {}
  const counts = decodeUsage(reportedUsage, 0)
    ? reportedUsage
    : { ...reportedUsage, ...encodeUsage(usage, cost) }
  const usageMetadata = { ...encodeServedTier(context.tier), ...counts, ...encodeCost(cost) }
  return {
    ...body,
    usageMetadata,
    modelVersion: context.model,
    responseId: context.id,
    ...encodeServiceMetadata(context),
  }
}
