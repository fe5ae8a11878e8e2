import type { Bill, Usage } from '../../call/usage.ts'
import type { GatewayError } from '../../errors.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import type { SseFrame } from '../../lib/sse.ts'
import { explained, nothingSeen, type Relay, type ReplyFacts, type Seen } from '../dialect.ts'
import { decodeError, encodeError } from './error.ts'
import { finishOf } from './finish.ts'
import { searchesOf } from './grounding.ts'
import { chunksOf, isEndMark, mostCandidates } from './reply-read.ts'
import { frameOf } from './reply-write.ts'
import { billFields, tierField, tierOf, usageOf, writeUsage } from './usage.ts'

/** Chunks that wait for the bill: one for each candidate, and some that only count. */
const mostHeld = 1000

interface Progress {
  finish: string | null
  called: boolean
  said: boolean
  searches: number
}

/** The upstream's chunks with our name and id. Those that finish a candidate wait for the bill. */
export class GeminiRelay implements Relay {
  readonly final = null
  readonly seen: Seen = nothingSeen()
  readonly #about: ReplyFacts
  readonly #candidates = new Map<number, Progress>()
  readonly #held: JsonObject[] = []
  readonly #meta: JsonObject = {}
  #over = false

  constructor(about: ReplyFacts) {
    this.#about = about
    Object.defineProperty(this.seen, 'usage', { enumerable: true, get: () => this.#usage() })
  }

  pass(frame: SseFrame): string {
    if (this.#over || this.seen.failure || frame.data.trim() === '') return ''
    if (isEndMark(frame)) {
      this.close()
      this.#over = this.seen.complete
      return ''
    }
    const chunks = chunksOf(frame.data)
    if (!chunks) {
      const message = 'The stream contained an event that is not a JSON object.'
      this.seen.failure = { kind: 'provider_unavailable', status: null, message }
      return ''
    }
    const alone = chunks.length === 1 && !frame.data.includes('\n') && !frame.data.startsWith('[')
    return chunks.map((chunk) => this.#chunk(chunk, alone ? frame.data : null)).join('')
  }

  end(usage: Usage, bill: Bill): string {
    const held = this.#held.slice(0, -1)
    const last = this.#held.at(-1) ?? { candidates: [] }
    const told = objectOf(last.usageMetadata)
    const counts = this.#usage() ? { ...this.#meta, ...told } : { ...this.#meta, ...writeUsage(usage, bill) }
    const shown = { ...tierField(this.#about.tier), ...counts, ...billFields(bill) }
    const billed = { ...last, usageMetadata: shown, ...explained(this.#about) }
    return [...held, billed].map((chunk) => frameOf(this.#renamed(chunk))).join('')
  }

  /** What was said in the chunks kept back counts, how they finished does not. */
  fail(error: GatewayError): string {
    const said = this.#held.flatMap(unfinished).map((chunk) => frameOf(this.#renamed(chunk)))
    return said.join('') + frameOf(encodeError(error, this.#about.id))
  }

  #chunk(chunk: JsonObject, raw: string | null): string {
    if (this.seen.failure) return ''
    if (chunk.error !== undefined && chunk.error !== null) {
      this.seen.failure = decodeError(null, chunk)
      return ''
    }
    this.#see(chunk)
    const candidates = objectsOf(chunk.candidates)
    const finishing =
      candidates.length === 0 || candidates.some((candidate) => textOf(candidate.finishReason))
    if (finishing) {
      if (this.#held.length >= mostHeld) {
        const message = 'The stream went on after its candidates had finished.'
        this.seen.failure = { kind: 'provider_unavailable', status: null, message }
      } else this.#held.push(chunk)
      return ''
    }
    const spliced = raw === null ? null : spliceNames(raw, this.#about)
    return spliced === null ? frameOf(this.#renamed(chunk)) : `data: ${spliced}\n\n`
  }

  #renamed(chunk: JsonObject): JsonObject {
    return { ...chunk, modelVersion: this.#about.model, responseId: this.#about.id }
  }

  #see(chunk: JsonObject): void {
    this.seen.model ??= textOf(chunk.modelVersion) ?? null
    const candidates = objectsOf(chunk.candidates)
    for (const candidate of candidates) this.#seeCandidate(candidate)
    const blocked = textOf(objectOf(chunk.promptFeedback)?.blockReason)
    if (blocked && this.#candidates.size === 0) {
      this.seen.finishes = [{ reason: 'content_filter', native: blocked }]
      this.seen.complete = true
    }
    const meta = objectOf(chunk.usageMetadata)
    if (meta) this.seen.tier = tierOf(Object.assign(this.#meta, meta)) ?? null
    const finishing = candidates.some((candidate) => textOf(candidate.finishReason))
    if (finishing || (this.seen.complete && candidates.length > 0)) this.#seeEnds()
  }

  #seeCandidate(candidate: JsonObject): void {
    const index = typeof candidate.index === 'number' ? candidate.index : 0
    const known = this.#candidates.get(index)
    if (!known && this.#candidates.size >= mostCandidates) return
    const progress = known ?? { finish: null, called: false, said: false, searches: 0 }
    this.#candidates.set(index, progress)
    for (const part of objectsOf(objectOf(candidate.content)?.parts)) {
      const length = charactersOf(part)
      this.seen.characters += length
      if (length > 0 || Object.keys(part).some((key) => key !== 'text')) {
        this.seen.content = true
        this.seen.progress++
      }
      progress.called ||= part.functionCall !== undefined
      progress.said ||= part.thought !== true && (part.text === undefined || part.text !== '')
      this.#seeCall(index, objectOf(part.functionCall))
    }
    progress.finish = textOf(candidate.finishReason) ?? progress.finish
    progress.searches = Math.max(progress.searches, searchesOf(candidate))
  }

  /** Arguments are an object here, and so are never broken; a call that comes in pieces is named once. */
  #seeCall(choice: number, call: JsonObject | undefined): void {
    const name = textOf(call?.name)
    if (!name) return
    const { calls } = this.seen
    this.seen.parts++
    calls.push({ choice, part: calls.length, name, arguments: '', custom: false })
  }

  /** Counted when somebody asks: chunks come by the hundred, each with a count of its own. */
  #usage(): Usage | null {
    let searches = 0
    for (const progress of this.#candidates.values()) searches += progress.searches
    return usageOf(this.#meta, searches)
  }

  /** Nothing more comes: an upstream that gave fewer candidates than were asked for has given all it has. */
  close(): string {
    if (!this.seen.complete && this.#candidates.size > 0) this.#seeEnds(1)
    return ''
  }

  #seeEnds(expected = this.#about.call.n ?? 1): void {
    const all = [...this.#candidates].sort(([a], [b]) => a - b)
    this.seen.complete = all.length >= expected && all.every(([, { finish }]) => finish !== null)
    this.seen.finishes = all.flatMap(([, { finish, ...progress }]) =>
      finish === null ? [] : [{ reason: finishOf(finish, progress), native: finish }],
    )
  }
}

function unfinished(chunk: JsonObject): JsonObject[] {
  const candidates = objectsOf(chunk.candidates)
    .filter((candidate) => objectsOf(objectOf(candidate.content)?.parts).length > 0)
    .map(({ finishReason, finishMessage, ...candidate }) => candidate)
  return candidates.length > 0 ? [{ ...chunk, candidates }] : []
}

function charactersOf(part: JsonObject): number {
  if (typeof part.text === 'string') return part.text.length
  const call = objectOf(part.functionCall)
  return call ? JSON.stringify(call).length : 0
}

/**
 * The vendor's own characters with two values exchanged, so that what we do not know, and numbers we could
 * not hold, stay as they are. Null when a name is not there exactly once: then the parsed chunk is written.
 */
function spliceNames(raw: string, about: ReplyFacts): string | null {
  const renamed = splice(raw, '"modelVersion"', about.model)
  return renamed === null ? null : splice(renamed, '"responseId"', about.id)
}

const stringValue = /\s*:\s*"(?:[^"\\]|\\.)*"/y

function splice(raw: string, key: string, value: string): string | null {
  const at = raw.lastIndexOf(key)
  if (at === -1 || raw.indexOf(key) !== at) return null
  stringValue.lastIndex = at + key.length
  const found = stringValue.exec(raw)
  if (!found) return null
  return `${raw.slice(0, at)}${key}:${JSON.stringify(value)}${raw.slice(at + key.length + found[0].length)}`
}

export function passReply(body: JsonObject, about: ReplyFacts, bill: Bill, usage: Usage): JsonObject {
  const told = objectOf(body.usageMetadata) ?? {}
  const counts = usageOf(told, 0) ? told : { ...told, ...writeUsage(usage, bill) }
  const usageMetadata = { ...tierField(about.tier), ...counts, ...billFields(bill) }
  return { ...body, usageMetadata, modelVersion: about.model, responseId: about.id, ...explained(about) }
}
