import type { PartDelta, ReplyEvent } from '../../call/event.ts'
import type { OutputPart } from '../../call/part.ts'
import { newId } from '../../lib/ids.ts'
import { defined, type JsonObject, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import type { SseFrame } from '../../lib/sse.ts'
import type { ReplyReader } from '../dialect.ts'
import { decodeError } from './error.ts'
import { finishOf } from './finish.ts'
import { citationsOf, logprobsOf, searchesOf } from './grounding.ts'
import { inlinePart } from './media.ts'
import { field, objectField } from './names.ts'
import { PartialArgs } from './partial-args.ts'
import { mintedPrefix } from './parts-decode.ts'
import { ownFormat, signatureOf } from './thoughts.ts'
import { tierOf, usageOf } from './usage.ts'

/** A chunk of a stream, or a whole reply, which has the same form. Null when it is not JSON. */
export function chunksOf(data: string): JsonObject[] | null {
  try {
    const value: unknown = JSON.parse(data)
    return Array.isArray(value) ? objectsOf(value) : objectOf(value) ? [value as JsonObject] : null
  } catch {
    return null
  }
}

/** Some proxies end the stream as other formats do. */
export function isEndMark({ data }: SseFrame): boolean {
  return data.trim() === '[DONE]'
}

/** Unique in a conversation, however many replies it has. */
function newCallId(): string {
  return newId(mintedPrefix.slice(0, -1))
}

/** More answers than anyone asks for: a hostile index must not fill the memory. */
export const mostCandidates = 128

export class GeminiReader implements ReplyReader {
  readonly #candidates = new Map<number, Candidate>()
  #events: ReplyEvent[] = []
  #started = false
  /** It failed, or its end was told: nothing after it counts. */
  #over = false
  #blocked: ReplyEvent | null = null
  readonly #meta: JsonObject = {}
  #tier: ReturnType<typeof tierOf>

  read(frame: SseFrame): ReplyEvent[] {
    if (this.#over || frame.data.trim() === '') return []
    if (isEndMark(frame)) return this.end()
    const chunks = chunksOf(frame.data)
    if (!chunks) return this.#fail('The stream contained an event that is not a JSON object.')
    for (const chunk of chunks) this.#chunk(chunk)
    return this.#flush()
  }

  /** A whole reply is over when it is there, whether or not it says why. */
  whole(body: JsonObject): ReplyEvent[] {
    this.#chunk(body)
    if (this.#over) return this.#flush()
    if (this.#candidates.size === 0 && !this.#blocked) {
      return [...this.#flush(), ...this.#fail('The reply has no candidates.')]
    }
    for (const candidate of this.#candidates.values()) candidate.finish ??= ''
    return [...this.#flush(), ...this.end()]
  }

  end(): ReplyEvent[] {
    if (this.#over) return []
    const candidates = [...this.#candidates.values()]
    const marked = candidates.every(({ finish }) => finish !== null)
    if (!marked || (candidates.length === 0 && !this.#blocked)) return this.#flush()
    this.#over = true
    for (const candidate of candidates) candidate.end()
    if (this.#blocked) this.#events.push(this.#blocked)
    this.#events.push({ type: 'reply-end' })
    return this.#flush()
  }

  #flush(): ReplyEvent[] {
    const events = this.#events
    this.#events = []
    return events
  }

  #fail(message: string): ReplyEvent[] {
    this.#over = true
    const failure = { kind: 'provider_unavailable' as const, status: null, message }
    return [...this.#flush(), { type: 'reply-error', failure }]
  }

  #chunk(chunk: JsonObject): void {
    if (this.#over) return
    if (chunk.error !== undefined && chunk.error !== null) {
      this.#over = true
      this.#events.push({ type: 'reply-error', failure: decodeError(null, chunk) })
      return
    }
    if (!this.#started) this.#start(chunk)
    const candidates = objectsOf(chunk.candidates)
    for (const candidate of candidates) this.#candidate(candidate)?.read(candidate)
    if (candidates.length === 0) this.#feedback(objectOf(chunk.promptFeedback))
    const meta = objectOf(chunk.usageMetadata)
    if (meta) this.#usage(meta)
  }

  #start(chunk: JsonObject): void {
    this.#started = true
    const facts = { id: textOf(chunk.responseId), model: textOf(chunk.modelVersion) }
    this.#events.push({ type: 'reply-start', ...defined(facts) })
  }

  #candidate(given: JsonObject): Candidate | null {
    const index = typeof given.index === 'number' ? given.index : 0
    const known = this.#candidates.get(index)
    if (known) return known
    if (this.#candidates.size >= mostCandidates) return null
    const candidate = new Candidate(index, (event) => this.#events.push(event))
    this.#candidates.set(index, candidate)
    return candidate
  }

  /** The prompt itself was refused: there is a reason and no candidate. */
  #feedback(feedback: JsonObject | undefined): void {
    const native = textOf(feedback?.blockReason)
    if (!native || this.#candidates.size > 0) return
    const explanation = textOf(feedback?.blockReasonMessage) ?? `The prompt was blocked: ${native}.`
    this.#blocked = { type: 'choice-end', choice: 0, reason: 'content_filter', native, explanation }
  }

  /** Every chunk counts anew; some leave out what did not change. */
  #usage(meta: JsonObject): void {
    Object.assign(this.#meta, meta)
    const tier = tierOf(this.#meta)
    if (tier !== undefined && tier !== this.#tier)
      this.#events.push({ type: 'reply-start', serviceTier: tier })
    this.#tier = tier
    let searches = 0
    for (const candidate of this.#candidates.values()) searches += candidate.searches
    const usage = usageOf(this.#meta, searches)
    if (usage) this.#events.push({ type: 'usage', usage })
  }
}

/** A citation in every chunk of a long text would take the square of its length. */
const mostSearched = 16 * 1024 * 1024

type Open = { at: number; kind: 'text' | 'reasoning' | 'audio'; text: string; media: string; rest: Buffer }

/** One answer: which of its parts is open, and how it ended. */
class Candidate {
  /** The vendor's word, null until it came; it may come more than once. */
  finish: string | null = null
  searches = 0
  readonly #index: number
  readonly #emit: (event: ReplyEvent) => void
  #open: Open | null = null
  #parts = 0
  #called = false
  /** Something of the answer came, and not thinking alone. */
  #said = false
  #explanation: string | undefined
  /** Characters that citations were looked up in, the same text counted each time. */
  #searched = 0
  #partial: { id: string; name: string; signature: string | undefined; args: PartialArgs } | null = null

  constructor(index: number, emit: (event: ReplyEvent) => void) {
    this.#index = index
    this.#emit = emit
  }

  read(candidate: JsonObject): void {
    const parts = objectsOf(objectOf(candidate.content)?.parts)
    const about = candidate.groundingMetadata ?? candidate.citationMetadata ?? candidate.logprobsResult
    if (about === undefined) for (const part of parts) this.#part(part)
    else this.#annotated(candidate, parts)
    if (textOf(candidate.finishReason)) this.finish = textOf(candidate.finishReason) ?? null
    this.#explanation = textOf(candidate.finishMessage) ?? this.#explanation
    this.searches = Math.max(this.searches, searchesOf(candidate))
  }

  end(): void {
    this.#finishPartial()
    this.#close()
    const native = this.finish || null
    const reason = finishOf(native ?? 'STOP', { called: this.#called, said: this.#said })
    const explanation = (native ?? 'STOP') === 'STOP' ? undefined : this.#explanation
    const end = { type: 'choice-end' as const, choice: this.#index, reason, native }
    this.#emit(explanation === undefined ? end : { ...end, explanation })
  }

  /** What is said about the text goes to its part while that is open: after the last text of the chunk. */
  #annotated(candidate: JsonObject, parts: JsonObject[]): void {
    const texts = parts.map(
      (part) => typeof part.text === 'string' && part.text !== '' && part.thought !== true,
    )
    const last = texts.lastIndexOf(true)
    for (const part of parts.slice(0, last + 1)) this.#part(part)
    this.#annotate(candidate)
    for (const part of parts.slice(last + 1)) this.#part(part)
  }

  #annotate(candidate: JsonObject): void {
    const text = this.#open?.kind === 'text' ? this.#open.text : null
    this.#searched += text?.length ?? 0
    const citations = citationsOf(candidate, this.#searched > mostSearched ? null : text)
    const logprobs = logprobsOf(candidate)
    if (citations.length === 0 && logprobs.length === 0) return
    if (this.#open?.kind !== 'text') this.#start('text', { kind: 'text', text: '' })
    for (const citation of citations) this.#delta({ citation })
    if (logprobs.length > 0) this.#delta({ logprobs })
  }

  #part(part: JsonObject): void {
    const call = objectField(part, 'functionCall')
    const blob = objectField(part, 'inlineData')
    const signature = textOf(field(part, 'thoughtSignature'))
    if (call) this.#call(call, signature)
    else if (typeof part.text === 'string') {
      if (part.thought === true) this.#thought(part.text, signature)
      else this.#text(part.text, signature)
    } else if (blob && part.thought !== true) this.#blob(blob, signature)
    else if (Object.keys(part).length > 0) {
      this.#whole({ kind: 'opaque', dialect: 'gemini', value: part })
    }
  }

  #text(text: string, signature: string | undefined): void {
    if (signature !== undefined) this.#signature(signature)
    if (text === '') return
    if (this.#open?.kind !== 'text') this.#start('text', { kind: 'text', text: '' })
    if (this.#open) this.#open.text += text
    this.#delta({ text })
  }

  #thought(text: string, signature: string | undefined): void {
    if (text === '' && signature === undefined) return
    if (this.#open?.kind !== 'reasoning') {
      this.#start('reasoning', { kind: 'reasoning', text: '', summary: [], format: ownFormat })
    }
    this.#delta(signature === undefined ? { text } : { text, signature })
    if (signature !== undefined) this.#close()
  }

  /** A part of its own, before the part it came on. */
  #signature(signature: string, callId?: string): void {
    const { signature: _, ...content } = signatureOf(signature, callId)
    this.#start('reasoning', content)
    this.#delta({ signature })
    this.#close()
  }

  /** Arguments come whole; where a client asked for them in pieces, they are put together first. */
  #call(call: JsonObject, signature: string | undefined): void {
    const name = textOf(call.name)
    const another = name !== undefined && (name !== this.#partial?.name || call.partialArgs === undefined)
    if (another) this.#finishPartial()
    const inPieces = call.willContinue === true || call.partialArgs !== undefined
    if (!this.#partial && !inPieces) {
      this.#wholeCall(textOf(call.id) || newCallId(), name ?? '', call.args ?? {}, signature)
      return
    }
    this.#partial ??= {
      id: textOf(call.id) || newCallId(),
      name: name ?? '',
      signature,
      args: new PartialArgs(),
    }
    this.#partial.signature ??= signature
    this.#partial.args.add(call.partialArgs)
    if (call.willContinue !== true) this.#finishPartial()
  }

  #finishPartial(): void {
    if (!this.#partial) return
    const { id, name, signature, args } = this.#partial
    this.#partial = null
    this.#wholeCall(id, name, args.args, signature)
  }

  #wholeCall(id: string, name: string, args: unknown, signature: string | undefined): void {
    this.#called = true
    if (signature !== undefined) this.#signature(signature, id)
    const at = this.#begin({ kind: 'tool-call', id, name, arguments: '' })
    const delta = { arguments: JSON.stringify(args) }
    this.#emit({ type: 'part-delta', choice: this.#index, part: at, delta })
    this.#emit({ type: 'part-end', choice: this.#index, part: at })
  }

  #blob(blob: JsonObject, signature: string | undefined): void {
    const media = textOf(field(blob, 'mimeType')) ?? ''
    const data = textOf(blob.data) ?? ''
    if (signature !== undefined) this.#signature(signature)
    const part = inlinePart(media, data)
    if (part.kind === 'audio') this.#audio(media, data, part.format)
    else if (part.kind === 'image') this.#whole(part)
    else this.#whole({ kind: 'opaque', dialect: 'gemini', value: { inlineData: blob } })
  }

  /** Each piece is base64 of its own: joined as text they would be broken, so bytes are carried over in threes. */
  #audio(media: string, data: string, format: string): void {
    if (this.#open?.kind !== 'audio' || this.#open.media !== media) {
      this.#start('audio', { kind: 'audio', data: '', format }, media)
    }
    const open = this.#open
    if (!open) return
    const bytes = Buffer.concat([open.rest, Buffer.from(data, 'base64')])
    const whole = bytes.length - (bytes.length % 3)
    open.rest = bytes.subarray(whole)
    if (whole > 0) this.#delta({ data: bytes.toString('base64', 0, whole) })
  }

  #whole(content: OutputPart): void {
    const at = this.#begin(content)
    this.#emit({ type: 'part-end', choice: this.#index, part: at })
  }

  #begin(content: OutputPart): number {
    this.#close()
    if (content.kind !== 'reasoning') this.#said = true
    const at = this.#parts++
    this.#emit({ type: 'part-start', choice: this.#index, part: at, content })
    return at
  }

  #start(kind: Open['kind'], content: OutputPart, media = ''): void {
    const at = this.#begin(content)
    this.#open = { at, kind, text: '', media, rest: Buffer.alloc(0) }
  }

  #delta(delta: PartDelta): void {
    if (this.#open) this.#emit({ type: 'part-delta', choice: this.#index, part: this.#open.at, delta })
  }

  #close(): void {
    const open = this.#open
    if (!open) return
    if (open.rest.length > 0) this.#delta({ data: open.rest.toString('base64') })
    this.#open = null
    this.#emit({ type: 'part-end', choice: this.#index, part: open.at })
  }
}
