import {
  asCount,
  asNumber,
  asObject,
  asObjects,
  asString,
  isBlank,
  type JsonObject,
} from '../../platform/json/json-values.ts'
import type { PartDelta, ReplyEvent } from '../call/event.ts'
import type { Citation, OutputPart, TokenLogprob } from '../call/part.ts'
import { decodeFinishReason } from './finish-reason.ts'
import { toArgumentsText, toolCallSignatureOf } from './messages-decode.ts'
import { decodeAnnotation, decodeSource, joinThinkingText } from './parts-decode.ts'
import { DetailReader, decodeEntryFormat } from './reasoning-details.ts'
import { functionFieldsOf, isCustomToolCall, ToolCallTable } from './tool-call-table.ts'

/** Decodes the deltas of one choice into events. A whole message is a single delta. */
export class ChoiceReader {
  readonly #choice: number
  #events: ReplyEvent[] = []
  #partCount = 0
  /** The text, refusal, reasoning or audio part that the next delta continues. */
  #current: { kind: OutputPart['kind']; part: number } | null = null
  /** Tool calls stay open until the end: their deltas may interleave. */
  readonly #toolCalls = new ToolCallTable()
  readonly #details = new DetailReader()
  /** Signatures of the tool calls in the same delta: each is emitted before its call. */
  #toolCallSignatures = new Map<unknown, JsonObject[]>()
  /** The offset of each text part in the whole content. */
  readonly #textParts: { part: number; start: number }[] = []
  #textLength = 0
  #hasCitations = false
  #finishReason: string | null = null
  #nativeFinishReason: string | null = null
  #endDetails: { stopSequence?: string; explanation?: string } = {}
  isFinished = false

  constructor(choice: number) {
    this.#choice = choice
  }

  get hasContent(): boolean {
    return this.#partCount > 0
  }

  get hasToolCalls(): boolean {
    return this.#toolCalls.size > 0
  }

  /** Reads the finish reason; another gateway also sends the native reason of its vendor. */
  readFinish(choice: JsonObject): void {
    const reason = asString(choice.finish_reason)
    if (!reason) return
    this.isFinished = true
    this.#finishReason = reason
    this.#nativeFinishReason = asString(choice.native_finish_reason) || reason
    const [stop, explanation] = [asString(choice.stop_sequence), asString(choice.finish_explanation)]
    this.#endDetails = {
      ...(stop !== undefined && { stopSequence: stop }),
      ...(explanation !== undefined && { explanation }),
    }
  }

  /** The events of a delta or message. `replyId` is used for tool calls without an id. */
  read(delta: JsonObject, logprobs: unknown, replyId: string): ReplyEvent[] {
    this.#events = []
    this.#toolCallSignatures.clear()
    this.#readReasoning(delta)
    this.#readContent(delta.content)
    this.#readLogprobs(asObject(logprobs)?.content)
    for (const annotation of asObjects(delta.annotations)) this.#addCitation(decodeAnnotation(annotation))
    const refusal = asString(delta.refusal)
    if (refusal) this.#appendDelta('refusal', { text: refusal })
    this.#readToolCalls(delta, replyId)
    this.#readMedia(delta)
    return this.#events
  }

  /** Ends the choice. `isEndMarked`: the vendor marked the end of the reply, even without a finish reason here. */
  end(isEndMarked: boolean, citations: Citation[]): ReplyEvent[] {
    this.#events = []
    // Sources of the chunk repeat those within the choice.
    if (!this.#hasCitations) for (const citation of citations) this.#addCitation(citation)
    this.#closePart()
    for (const { part, custom, hasArguments } of this.#toolCalls.all) {
      if (!custom && !hasArguments) this.#emit({ type: 'part-delta', part, delta: { arguments: '{}' } })
      this.#emit({ type: 'part-end', part })
    }
    if (this.isFinished || isEndMarked) {
      const reason = decodeFinishReason(this.#finishReason, this.hasToolCalls)
      const [choice, native] = [this.#choice, this.#nativeFinishReason]
      this.#events.push({ type: 'choice-end', choice, reason, native, ...this.#endDetails })
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

  #startPart(content: OutputPart): number {
    const part = this.#partCount++
    this.#emit({ type: 'part-start', part, content })
    return part
  }

  #closePart(): void {
    if (this.#current) this.#emit({ type: 'part-end', part: this.#current.part })
    this.#current = null
    this.#details.close()
  }

  #openPart(content: OutputPart): number {
    this.#closePart()
    const part = this.#startPart(content)
    this.#current = { kind: content.kind, part }
    if (content.kind === 'text') this.#textParts.push({ part, start: this.#textLength })
    return part
  }

  #appendDelta(kind: 'text' | 'refusal' | 'reasoning', delta: PartDelta): void {
    const part = this.#current?.kind === kind ? this.#current.part : this.#openPart(newEmptyPart(kind))
    this.#emit({ type: 'part-delta', part, delta })
  }

  #readReasoning(delta: JsonObject): void {
    const details = asObjects(delta.reasoning_details)
    if (details.length > 0) {
      const toolCallIds = new Set(asObjects(delta.tool_calls).map(({ id }) => id))
      this.#toolCallSignatures = Map.groupBy(
        details.filter((entry) => isToolCallSignature(entry, toolCallIds)),
        ({ id }) => id,
      )
      for (const entry of details)
        if (!isToolCallSignature(entry, toolCallIds)) this.#readReasoningDetail(entry)
      return
    }
    const text = asString(delta.reasoning) || asString(delta.reasoning_content)
    if (text) this.#appendDelta('reasoning', { text })
  }

  #readReasoningDetail(entry: JsonObject): void {
    // An entry can only continue an open reasoning part.
    if (this.#current?.kind !== 'reasoning') this.#details.close()
    const update = this.#details.read(entry)
    if (!update) {
      this.#closePart()
      const part = this.#startPart({ kind: 'opaque', wireFormat: 'chat', value: entry })
      this.#emit({ type: 'part-end', part })
      return
    }
    if (update.newPart) {
      if (this.#current) this.#emit({ type: 'part-end', part: this.#current.part })
      this.#current = { kind: 'reasoning', part: this.#startPart(update.newPart) }
    }
    const part = this.#current?.part ?? 0
    if (Object.keys(update.delta).length > 0) this.#emit({ type: 'part-delta', part, delta: update.delta })
  }

  #readContent(content: unknown): void {
    if (typeof content === 'string') this.#readText(content)
    if (!Array.isArray(content)) return
    for (const item of content) {
      const chunk = asObject(item)
      if (typeof item === 'string') this.#readText(item)
      else if (chunk?.type === 'thinking')
        this.#appendDelta('reasoning', { text: joinThinkingText(chunk.thinking) })
      else if (chunk?.type === 'image_url') this.#readImage(chunk)
      else if (chunk) this.#readText(asString(chunk.text) ?? '')
    }
  }

  #readText(text: string): void {
    if (text === '') return
    this.#appendDelta('text', { text })
    this.#textLength += text.length
  }

  #readLogprobs(content: unknown): void {
    if (!Array.isArray(content) || content.length === 0) return
    this.#appendDelta('text', { logprobs: asObjects(content).map(decodeLogprob) })
  }

  /** Adds a citation. Positions on the wire are relative to the whole content; in a part, to the part. */
  #addCitation(citation: Citation): void {
    if (this.#current?.kind !== 'text') this.#openPart(newEmptyPart('text'))
    this.#hasCitations = true
    const { start, end, ...rest } = citation
    const text = this.#textParts.at(-1)
    if (!text) return
    // A citation in an earlier, closed part keeps its source but loses its position.
    const shifted =
      start !== undefined && start >= text.start
        ? { ...rest, start: start - text.start, ...(end !== undefined && { end: end - text.start }) }
        : rest
    this.#emit({ type: 'part-delta', part: text.part, delta: { citation: shifted } })
  }

  #readToolCalls(delta: JsonObject, replyId: string): void {
    for (const toolCall of asObjects(delta.tool_calls)) this.#readToolCall(toolCall, replyId)
    const legacy = asObject(delta.function_call)
    if (legacy && !isBlank(legacy)) this.#readToolCall({ index: 0, function: legacy }, replyId)
  }

  #readToolCall(toolCall: JsonObject, replyId: string): void {
    const functionFields = functionFieldsOf(toolCall)
    const custom = isCustomToolCall(toolCall)
    const argumentsDelta = toArgumentsText(custom ? functionFields.input : functionFields.arguments)
    let open = this.#toolCalls.find(toolCall)
    if (!open) {
      if (isBlank(toolCall.id) && isBlank(functionFields)) return
      this.#closePart()
      const id = asString(toolCall.id) || `call_${replyId}_${this.#toolCalls.size}`
      for (const entry of this.#toolCallSignatures.get(id) ?? []) this.#readReasoningDetail(entry)
      this.#closePart()
      this.#readToolCallSignature(toolCall, id)
      const name = asString(functionFields.name) ?? ''
      const part = this.#startPart({ kind: 'tool-call', id, name, arguments: '', ...(custom && { custom }) })
      open = this.#toolCalls.add(toolCall, id, part)
    }
    if (argumentsDelta === '') return
    open.hasArguments = true
    this.#emit({ type: 'part-delta', part: open.part, delta: { arguments: argumentsDelta } })
  }

  #readToolCallSignature(toolCall: JsonObject, id: string): void {
    const signature = toolCallSignatureOf(toolCall)
    if (signature === undefined) return
    const part = this.#startPart({
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
    const audio = asObject(delta.audio)
    if (audio && !isBlank(audio)) this.#readAudio(audio)
    for (const image of asObjects(delta.images)) this.#readImage(image)
  }

  #readAudio(audio: JsonObject): void {
    const [data, transcript] = [asString(audio.data), asString(audio.transcript)]
    if (this.#current?.kind !== 'audio') {
      const [id, expires] = [asString(audio.id), asCount(audio.expires_at)]
      this.#openPart({
        kind: 'audio',
        data: '',
        format: asString(audio.format) ?? '',
        ...(id !== undefined && { id }),
        ...(expires > 0 && { expiresAt: expires }),
      })
    }
    if (data === undefined && transcript === undefined) return
    const delta = { ...(data !== undefined && { data }), ...(transcript !== undefined && { transcript }) }
    this.#emit({ type: 'part-delta', part: this.#current?.part ?? 0, delta })
  }

  #readImage(image: JsonObject): void {
    const url = asString(asObject(image.image_url)?.url) ?? asString(image.image_url)
    if (url === undefined) return
    this.#closePart()
    const part = this.#startPart({ kind: 'image', source: decodeSource(url) })
    this.#emit({ type: 'part-end', part })
  }
}

function isToolCallSignature(entry: JsonObject, toolCallIds: ReadonlySet<unknown>): boolean {
  return (
    entry.type === 'reasoning.encrypted' &&
    decodeEntryFormat(entry) === 'vendor_c-v1' &&
    toolCallIds.has(entry.id)
  )
}

function newEmptyPart(kind: 'text' | 'refusal' | 'reasoning'): OutputPart {
  return kind === 'reasoning' ? { kind, text: '', summary: [], format: 'unknown' } : { kind, text: '' }
}

function decodeLogprob(entry: JsonObject): TokenLogprob {
  const decodeToken = (token: JsonObject) => ({
    token: asString(token.token) ?? '',
    logprob: asNumber(token.logprob) ?? 0,
    bytes: Array.isArray(token.bytes) ? token.bytes.filter((byte) => typeof byte === 'number') : null,
  })
  return { ...decodeToken(entry), top: asObjects(entry.top_logprobs).map(decodeToken) }
}
