import type { SseFrame } from '../../platform/http/sse.ts'
import {
  asObject,
  asObjects,
  asString,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import type { ReplyEvent } from '../call/event.ts'
import { type ListPaths, limitEventLists } from '../reply-lists.ts'
import type { ReplyReader } from '../wire-format.ts'
import { CandidateReader } from './candidate-reader.ts'
import { decodeError } from './error.ts'
import { decodeTier, decodeUsage } from './usage.ts'

/** The chunks of a frame, which may be an array. A whole reply has the same form. Null when it is not JSON. */
export function parseChunks(data: string): JsonObject[] | null {
  const value = tryParse(data)
  limitEventLists(data, value, replyLists)
  if (Array.isArray(value)) return asObjects(value)
  const chunk = asObject(value)
  return chunk ? [chunk] : null
}

export const replyLists: ListPaths = [
  [],
  ['candidates'],
  ['candidates', 'content', 'parts'],
  ['candidates', 'groundingMetadata', 'groundingChunks'],
  ['candidates', 'groundingMetadata', 'groundingSupports'],
  ['candidates', 'groundingMetadata', 'groundingSupports', 'groundingChunkIndices'],
]

function tryParse(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}

/** Some proxies end the stream with the marker of other formats. */
export function isDoneMarker({ data }: SseFrame): boolean {
  return data.trim() === '[DONE]'
}

/** Bounds memory: an upstream could send any number of candidate indexes. */
export const maxCandidates = 128

export class GeminiReader implements ReplyReader {
  readonly #candidates = new Map<number, CandidateReader>()
  #events: ReplyEvent[] = []
  #isStarted = false
  /** The reply ended or failed: later chunks are ignored. */
  #isOver = false
  #blockedEnd: ReplyEvent | null = null
  readonly #usageMetadata: JsonObject = {}
  #tier: ReturnType<typeof decodeTier>

  read(frame: SseFrame): ReplyEvent[] {
    if (this.#isOver || frame.data.trim() === '') return []
    if (isDoneMarker(frame)) return this.end()
    const chunks = parseChunks(frame.data)
    if (!chunks) return this.#fail('The provider sent an event that is not a JSON object.')
    for (const chunk of chunks) this.#readChunk(chunk)
    return this.#flush()
  }

  /** A whole reply is complete even without a finish reason. */
  readWhole(body: JsonObject): ReplyEvent[] {
    this.#readChunk(body)
    if (this.#isOver) return this.#flush()
    if (this.#candidates.size === 0 && !this.#blockedEnd) {
      return [...this.#flush(), ...this.#fail('The reply has no candidates.')]
    }
    for (const candidate of this.#candidates.values()) candidate.finishReason ??= ''
    return [...this.#flush(), ...this.end()]
  }

  end(): ReplyEvent[] {
    if (this.#isOver) return []
    const candidates = [...this.#candidates.values()]
    const isFinished = candidates.every(({ finishReason }) => finishReason !== null)
    if (!isFinished || (candidates.length === 0 && !this.#blockedEnd)) return this.#flush()
    this.#isOver = true
    for (const candidate of candidates) candidate.end()
    if (this.#blockedEnd) this.#events.push(this.#blockedEnd)
    this.#events.push({ type: 'reply-end' })
    return this.#flush()
  }

  #flush(): ReplyEvent[] {
    const events = this.#events
    this.#events = []
    return events
  }

  #fail(message: string): ReplyEvent[] {
    this.#isOver = true
    const failure = { kind: 'provider_unavailable' as const, status: null, message }
    return [...this.#flush(), { type: 'reply-error', failure }]
  }

  #readChunk(chunk: JsonObject): void {
    if (this.#isOver) return
    if (chunk.error !== undefined && chunk.error !== null) {
      this.#isOver = true
      this.#events.push({ type: 'reply-error', failure: decodeError(null, chunk) })
      return
    }
    if (!this.#isStarted) this.#startReply(chunk)
    const candidates = asObjects(chunk.candidates)
    for (const candidate of candidates) this.#openCandidate(candidate)?.read(candidate)
    if (candidates.length === 0) this.#readPromptFeedback(asObject(chunk.promptFeedback))
    const meta = asObject(chunk.usageMetadata)
    if (meta) this.#reportUsage(meta)
  }

  #startReply(chunk: JsonObject): void {
    this.#isStarted = true
    const identity = { id: asString(chunk.responseId), model: asString(chunk.modelVersion) }
    this.#events.push({ type: 'reply-start', ...omitUndefined(identity) })
  }

  #openCandidate(body: JsonObject): CandidateReader | null {
    const index = typeof body.index === 'number' ? body.index : 0
    const existing = this.#candidates.get(index)
    if (existing) return existing
    if (this.#candidates.size >= maxCandidates) return null
    const candidate = new CandidateReader(index, (event) => this.#events.push(event))
    this.#candidates.set(index, candidate)
    return candidate
  }

  /** A blocked prompt has a reason and no candidates. */
  #readPromptFeedback(feedback: JsonObject | undefined): void {
    const native = asString(feedback?.blockReason)
    if (!native || this.#candidates.size > 0) return
    const explanation = asString(feedback?.blockReasonMessage) ?? `The prompt was blocked: ${native}.`
    this.#blockedEnd = { type: 'choice-end', choice: 0, reason: 'content_filter', native, explanation }
  }

  /** Every chunk carries usage; unchanged counts may be omitted. */
  #reportUsage(meta: JsonObject): void {
    Object.assign(this.#usageMetadata, meta)
    const tier = decodeTier(this.#usageMetadata)
    if (tier !== undefined && tier !== this.#tier)
      this.#events.push({ type: 'reply-start', serviceTier: tier })
    this.#tier = tier
    let searches = 0
    for (const candidate of this.#candidates.values()) searches += candidate.searchCount
    const usage = decodeUsage(this.#usageMetadata, searches)
    if (usage) this.#events.push({ type: 'usage', usage })
  }
}
