import type { PartDelta, ReplyEvent } from '../../call/event.ts'
import type { Citation, OutputPart, TokenLogprob } from '../../call/part.ts'
import { countOf, type JsonObject, numberOf, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import { CallTable, functionOf, isBlank, isCustomCall } from './call-table.ts'
import { finishReason } from './finish.ts'
import { argumentsText, callSignature } from './messages-decode.ts'
import { decodeAnnotation, sourceOf, thinkingText } from './parts-decode.ts'
import { DetailReader, formatOf } from './reasoning-details.ts'

/** Events of one choice, from its deltas. A whole message is a single long delta. */
export class ChoiceReader {
  readonly #choice: number
  #events: ReplyEvent[] = []
  #parts = 0
  /** The text, refusal, thinking or audio that the next piece continues. */
  #open: { kind: OutputPart['kind']; part: number } | null = null
  /** Parts that may get more at any time: calls come interleaved. */
  readonly #calls = new CallTable()
  readonly #details = new DetailReader()
  /** Signatures of calls in the same delta: each stands before its call. */
  #ofCalls = new Map<unknown, JsonObject[]>()
  /** Where each text part begins within the whole content. */
  readonly #texts: { part: number; start: number }[] = []
  #textLength = 0
  #cited = false
  #finish: string | null = null
  #native: string | null = null
  #remarks: { stopSequence?: string; explanation?: string } = {}
  finished = false

  constructor(choice: number) {
    this.#choice = choice
  }

  get callsTools(): boolean {
    return this.#calls.size > 0
  }

  /** The vendor said how the choice ended; another gateway also passes on the words of its own vendor. */
  finish(choice: JsonObject): void {
    const word = textOf(choice.finish_reason)
    if (!word) return
    this.finished = true
    this.#finish = word
    this.#native = textOf(choice.native_finish_reason) || word
    const [stop, explanation] = [textOf(choice.stop_sequence), textOf(choice.finish_explanation)]
    this.#remarks = {
      ...(stop !== undefined && { stopSequence: stop }),
      ...(explanation !== undefined && { explanation }),
    }
  }

  /** What a delta, or a message, adds. `replyId` names calls that come without an id. */
  read(delta: JsonObject, logprobs: unknown, replyId: string): ReplyEvent[] {
    this.#events = []
    this.#ofCalls.clear()
    this.#readThoughts(delta)
    this.#readContent(delta.content)
    this.#readLogprobs(objectOf(logprobs)?.content)
    for (const annotation of objectsOf(delta.annotations)) this.#cite(decodeAnnotation(annotation))
    const refusal = textOf(delta.refusal)
    if (refusal) this.#append('refusal', { text: refusal })
    this.#readCalls(delta, replyId)
    this.#readMedia(delta)
    return this.#events
  }

  /** The choice is over. `told`: the vendor marked the end of the reply, with or without a reason for this choice. */
  end(told: boolean, citations: Citation[]): ReplyEvent[] {
    this.#events = []
    // Sources told twice, beside the choices and within, are the same ones.
    if (!this.#cited) for (const citation of citations) this.#cite(citation)
    this.#close()
    for (const { part, custom, hasArguments } of this.#calls.all) {
      if (!custom && !hasArguments) this.#emit({ type: 'part-delta', part, delta: { arguments: '{}' } })
      this.#emit({ type: 'part-end', part })
    }
    if (this.finished || told) {
      const reason = finishReason(this.#finish, this.callsTools)
      const [choice, native] = [this.#choice, this.#native]
      this.#events.push({ type: 'choice-end', choice, reason, native, ...this.#remarks })
    }
    return this.#events
  }

  #emit(
    event:
      | { type: 'part-start'; part: number; content: OutputPart }
      | { type: 'part-delta'; part: number; delta: PartDelta }
      | { type: 'part-end'; part: number },
  ): void {
    this.#events.push({ ...event, choice: this.#choice })
  }

  #start(content: OutputPart): number {
    const part = this.#parts++
    this.#emit({ type: 'part-start', part, content })
    return part
  }

  #close(): void {
    if (this.#open) this.#emit({ type: 'part-end', part: this.#open.part })
    this.#open = null
    this.#details.close()
  }

  #begin(content: OutputPart): number {
    this.#close()
    const part = this.#start(content)
    this.#open = { kind: content.kind, part }
    if (content.kind === 'text') this.#texts.push({ part, start: this.#textLength })
    return part
  }

  #append(kind: 'text' | 'refusal' | 'reasoning', delta: PartDelta): void {
    const part = this.#open?.kind === kind ? this.#open.part : this.#begin(emptyOf(kind))
    this.#emit({ type: 'part-delta', part, delta })
  }

  #readThoughts(delta: JsonObject): void {
    const details = objectsOf(delta.reasoning_details)
    if (details.length > 0) {
      const calls = new Set(objectsOf(delta.tool_calls).map(({ id }) => id))
      this.#ofCalls = Map.groupBy(
        details.filter((entry) => isOfCall(entry, calls)),
        ({ id }) => id,
      )
      for (const entry of details) if (!isOfCall(entry, calls)) this.#readDetail(entry)
      return
    }
    const text = textOf(delta.reasoning) || textOf(delta.reasoning_content)
    if (text) this.#append('reasoning', { text })
  }

  #readDetail(entry: JsonObject): void {
    // What is open may be no thinking at all: then nothing can be continued.
    if (this.#open?.kind !== 'reasoning') this.#details.close()
    const placed = this.#details.read(entry)
    if (!placed) {
      this.#close()
      const part = this.#start({ kind: 'opaque', dialect: 'chat', value: entry })
      this.#emit({ type: 'part-end', part })
      return
    }
    if (placed.fresh) {
      if (this.#open) this.#emit({ type: 'part-end', part: this.#open.part })
      this.#open = { kind: 'reasoning', part: this.#start(placed.fresh) }
    }
    const part = this.#open?.part ?? 0
    if (Object.keys(placed.delta).length > 0) this.#emit({ type: 'part-delta', part, delta: placed.delta })
  }

  #readContent(content: unknown): void {
    if (typeof content === 'string') this.#readText(content)
    if (!Array.isArray(content)) return
    for (const item of content) {
      const chunk = objectOf(item)
      if (typeof item === 'string') this.#readText(item)
      else if (chunk?.type === 'thinking') this.#append('reasoning', { text: thinkingText(chunk.thinking) })
      else if (chunk?.type === 'image_url') this.#readImage(chunk)
      else if (chunk) this.#readText(textOf(chunk.text) ?? '')
    }
  }

  #readText(text: string): void {
    if (text === '') return
    this.#append('text', { text })
    this.#textLength += text.length
  }

  #readLogprobs(content: unknown): void {
    if (!Array.isArray(content) || content.length === 0) return
    this.#append('text', { logprobs: objectsOf(content).map(decodeLogprob) })
  }

  /** Positions count from the start of the whole content; a part's own from its own start. */
  #cite(citation: Citation): void {
    if (this.#open?.kind !== 'text') this.#begin(emptyOf('text'))
    this.#cited = true
    const { start, end, ...rest } = citation
    const text = this.#texts.at(-1)
    if (!text) return
    // Of a part that is closed nothing more can be said: the source is kept, its place is not.
    const moved =
      start !== undefined && start >= text.start
        ? { ...rest, start: start - text.start, ...(end !== undefined && { end: end - text.start }) }
        : rest
    this.#emit({ type: 'part-delta', part: text.part, delta: { citation: moved } })
  }

  #readCalls(delta: JsonObject, replyId: string): void {
    for (const call of objectsOf(delta.tool_calls)) this.#readCall(call, replyId)
    const legacy = objectOf(delta.function_call)
    if (legacy && !isBlank(legacy)) this.#readCall({ index: 0, function: legacy }, replyId)
  }

  #readCall(call: JsonObject, replyId: string): void {
    const named = functionOf(call)
    const custom = isCustomCall(call)
    const given = argumentsText(custom ? named.input : named.arguments)
    let open = this.#calls.find(call)
    if (!open) {
      if (isBlank(call.id) && isBlank(named)) return
      this.#close()
      const id = textOf(call.id) || `call_${replyId}_${this.#calls.size}`
      for (const entry of this.#ofCalls.get(id) ?? []) this.#readDetail(entry)
      this.#close()
      this.#readCallSignature(call, id)
      const name = textOf(named.name) ?? ''
      const part = this.#start({ kind: 'tool-call', id, name, arguments: '', ...(custom && { custom }) })
      open = this.#calls.add(call, id, part)
    }
    if (given === '') return
    open.hasArguments = true
    this.#emit({ type: 'part-delta', part: open.part, delta: { arguments: given } })
  }

  #readCallSignature(call: JsonObject, id: string): void {
    const signature = callSignature(call)
    if (signature === undefined) return
    const part = this.#start({
      kind: 'reasoning',
      id,
      text: '',
      summary: [],
      signature,
      format: 'vendor_c-v1',
    })
    this.#emit({ type: 'part-end', part })
  }

  #readMedia(delta: JsonObject): void {
    const audio = objectOf(delta.audio)
    if (audio && !isBlank(audio)) this.#readAudio(audio)
    for (const image of objectsOf(delta.images)) this.#readImage(image)
  }

  #readAudio(audio: JsonObject): void {
    const [data, transcript] = [textOf(audio.data), textOf(audio.transcript)]
    if (this.#open?.kind !== 'audio') {
      const [id, expires] = [textOf(audio.id), countOf(audio.expires_at)]
      this.#begin({
        kind: 'audio',
        data: '',
        format: textOf(audio.format) ?? '',
        ...(id !== undefined && { id }),
        ...(expires > 0 && { expiresAt: expires }),
      })
    }
    if (data === undefined && transcript === undefined) return
    const delta = { ...(data !== undefined && { data }), ...(transcript !== undefined && { transcript }) }
    this.#emit({ type: 'part-delta', part: this.#open?.part ?? 0, delta })
  }

  #readImage(image: JsonObject): void {
    const url = textOf(objectOf(image.image_url)?.url) ?? textOf(image.image_url)
    if (url === undefined) return
    this.#close()
    const part = this.#start({ kind: 'image', source: sourceOf(url) })
    this.#emit({ type: 'part-end', part })
  }
}

function isOfCall(entry: JsonObject, calls: ReadonlySet<unknown>): boolean {
  return entry.type === 'reasoning.encrypted' && formatOf(entry) === 'vendor_c-v1' && calls.has(entry.id)
}

function emptyOf(kind: 'text' | 'refusal' | 'reasoning'): OutputPart {
  return kind === 'reasoning' ? { kind, text: '', summary: [], format: 'unknown' } : { kind, text: '' }
}

function decodeLogprob(entry: JsonObject): TokenLogprob {
  const one = (given: JsonObject) => ({
    token: textOf(given.token) ?? '',
    logprob: numberOf(given.logprob) ?? 0,
    bytes: Array.isArray(given.bytes) ? given.bytes.filter((byte) => typeof byte === 'number') : null,
  })
  return { ...one(entry), top: objectsOf(entry.top_logprobs).map(one) }
}
