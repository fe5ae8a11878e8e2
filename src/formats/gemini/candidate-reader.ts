import { newId } from '../../platform/crypto/ids.ts'
import { asObject, asObjects, asString, isBlank, type JsonObject } from '../../platform/json/json-values.ts'
import type { PartDelta, ReplyEvent } from '../call/event.ts'
import type { OutputPart } from '../call/part.ts'
import { readField, readObjectField } from './field-names.ts'
import { decodeFinishReason } from './finish-reason.ts'
import { countSearches, decodeCitations, decodeLogprobs } from './grounding.ts'
import { decodeInlineMedia } from './media.ts'
import { PartialArguments } from './partial-arguments.ts'
import { generatedIdPrefix } from './parts-decode.ts'
import { createSignaturePart, nativeFormat } from './thoughts.ts'

/** Unique across all replies of a conversation. */
function newToolCallId(): string {
  return newId(generatedIdPrefix.slice(0, -1))
}

/** Bounds the work of locating citations, which is quadratic when every chunk of a long text has some. */
const maxSearchedCharacters = 16 * 1024 * 1024

type OpenPart = {
  index: number
  kind: 'text' | 'reasoning' | 'audio'
  text: string
  mediaType: string
  leftover: Buffer
}

/** Reads one candidate: tracks its open part and its finish reason. */
export class CandidateReader {
  /** The vendor's finish reason; null until it arrives. It may arrive more than once. */
  finishReason: string | null = null
  searchCount = 0
  readonly #index: number
  readonly #emit: (event: ReplyEvent) => void
  #current: OpenPart | null = null
  #partCount = 0
  #hasToolCalls = false
  /** Content other than reasoning has arrived. */
  #hasContent = false
  #explanation: string | undefined
  /** Characters searched for citations; the same text counts each time. */
  #searchedCharacters = 0
  #partialToolCall: {
    id: string
    name: string
    signature: string | undefined
    args: PartialArguments
  } | null = null

  constructor(index: number, emit: (event: ReplyEvent) => void) {
    this.#index = index
    this.#emit = emit
  }

  read(candidate: JsonObject): void {
    const parts = asObjects(asObject(candidate.content)?.parts)
    const annotations = candidate.groundingMetadata ?? candidate.citationMetadata ?? candidate.logprobsResult
    if (annotations === undefined) for (const part of parts) this.#readPart(part)
    else this.#readAnnotatedParts(candidate, parts)
    if (asString(candidate.finishReason)) this.finishReason = asString(candidate.finishReason) ?? null
    this.#explanation = asString(candidate.finishMessage) ?? this.#explanation
    this.searchCount = Math.max(this.searchCount, countSearches(candidate))
  }

  end(): void {
    this.#finishPartialToolCall()
    this.#closePart()
    const native = this.finishReason || null
    const reason = decodeFinishReason(native ?? 'STOP', {
      hasToolCalls: this.#hasToolCalls,
      hasContent: this.#hasContent,
    })
    const explanation = (native ?? 'STOP') === 'STOP' ? undefined : this.#explanation
    const end = { type: 'choice-end' as const, choice: this.#index, reason, native }
    this.#emit(explanation === undefined ? end : { ...end, explanation })
  }

  /** Citations and logprobs belong to the open text part, so they are emitted after the last text of the chunk. */
  #readAnnotatedParts(candidate: JsonObject, parts: JsonObject[]): void {
    const texts = parts.map(
      (part) => typeof part.text === 'string' && part.text !== '' && part.thought !== true,
    )
    const last = texts.lastIndexOf(true)
    for (const part of parts.slice(0, last + 1)) this.#readPart(part)
    this.#annotate(candidate)
    for (const part of parts.slice(last + 1)) this.#readPart(part)
  }

  #annotate(candidate: JsonObject): void {
    const text = this.#current?.kind === 'text' ? this.#current.text : null
    this.#searchedCharacters += text?.length ?? 0
    const citations = decodeCitations(
      candidate,
      this.#searchedCharacters > maxSearchedCharacters ? null : text,
    )
    const logprobs = decodeLogprobs(candidate)
    if (citations.length === 0 && logprobs.length === 0) return
    if (this.#current?.kind !== 'text') this.#openPart('text', { kind: 'text', text: '' })
    for (const citation of citations) this.#emitDelta({ citation })
    if (logprobs.length > 0) this.#emitDelta({ logprobs })
  }

  #readPart(part: JsonObject): void {
    const toolCall = readObjectField(part, 'functionCall')
    const blob = readObjectField(part, 'inlineData')
    const signature = asString(readField(part, 'thoughtSignature'))
    const isText = typeof part.text === 'string' && (part.text !== '' || !blob)
    if (toolCall && !(isText && isBlank(toolCall))) this.#readToolCall(toolCall, signature)
    else if (typeof part.text === 'string' && isText) {
      if (part.thought === true) this.#readThought(part.text, signature)
      else this.#readText(part.text, signature)
    } else if (blob && part.thought !== true) this.#readInlineData(blob, signature)
    else if (Object.keys(part).length > 0) {
      this.#emitPart({ kind: 'opaque', wireFormat: 'gemini', value: part })
    }
  }

  #readText(text: string, signature: string | undefined): void {
    if (signature !== undefined) this.#emitSignature(signature)
    if (text === '') return
    if (this.#current?.kind !== 'text') this.#openPart('text', { kind: 'text', text: '' })
    if (this.#current) this.#current.text += text
    this.#emitDelta({ text })
  }

  #readThought(text: string, signature: string | undefined): void {
    if (text === '' && signature === undefined) return
    if (this.#current?.kind !== 'reasoning') {
      this.#openPart('reasoning', { kind: 'reasoning', text: '', summary: [], format: nativeFormat })
    }
    this.#emitDelta(signature === undefined ? { text } : { text, signature })
    if (signature !== undefined) this.#closePart()
  }

  /** Emits the signature as a separate part before the part that carries it. */
  #emitSignature(signature: string, toolCallId?: string): void {
    const { signature: _, ...content } = createSignaturePart(signature, toolCallId)
    this.#openPart('reasoning', content)
    this.#emitDelta({ signature })
    this.#closePart()
  }

  /** Arguments usually arrive whole; streamed arguments are collected first. */
  #readToolCall(toolCall: JsonObject, signature: string | undefined): void {
    const name = asString(toolCall.name)
    const isAnother =
      name !== undefined && (name !== this.#partialToolCall?.name || toolCall.partialArgs === undefined)
    if (isAnother) this.#finishPartialToolCall()
    const isPartial = toolCall.willContinue === true || toolCall.partialArgs !== undefined
    if (!this.#partialToolCall && !isPartial) {
      this.#emitToolCall(asString(toolCall.id) || newToolCallId(), name ?? '', toolCall.args ?? {}, signature)
      return
    }
    this.#partialToolCall ??= {
      id: asString(toolCall.id) || newToolCallId(),
      name: name ?? '',
      signature,
      args: new PartialArguments(),
    }
    this.#partialToolCall.signature ??= signature
    this.#partialToolCall.args.add(toolCall.partialArgs)
    if (toolCall.willContinue !== true) this.#finishPartialToolCall()
  }

  #finishPartialToolCall(): void {
    if (!this.#partialToolCall) return
    const { id, name, signature, args } = this.#partialToolCall
    this.#partialToolCall = null
    this.#emitToolCall(id, name, args.value, signature)
  }

  #emitToolCall(id: string, name: string, args: unknown, signature: string | undefined): void {
    this.#hasToolCalls = true
    if (signature !== undefined) this.#emitSignature(signature, id)
    const index = this.#startPart({ kind: 'tool-call', id, name, arguments: '' })
    const delta = { arguments: JSON.stringify(args) }
    this.#emit({ type: 'part-delta', choice: this.#index, part: index, delta })
    this.#emit({ type: 'part-end', choice: this.#index, part: index })
  }

  #readInlineData(blob: JsonObject, signature: string | undefined): void {
    const mediaType = asString(readField(blob, 'mimeType')) ?? ''
    const data = asString(blob.data) ?? ''
    if (signature !== undefined) this.#emitSignature(signature)
    const part = decodeInlineMedia(mediaType, data)
    if (part.kind === 'audio') this.#readAudio(mediaType, data, part.format)
    else if (part.kind === 'image') this.#emitPart(part)
    else this.#emitPart({ kind: 'opaque', wireFormat: 'gemini', value: { inlineData: blob } })
  }

  /** Every chunk is padded base64, which cannot be concatenated: bytes are re-encoded in multiples of three. */
  #readAudio(mediaType: string, data: string, format: string): void {
    if (this.#current?.kind !== 'audio' || this.#current.mediaType !== mediaType) {
      this.#openPart('audio', { kind: 'audio', data: '', format }, mediaType)
    }
    const current = this.#current
    if (!current) return
    const bytes = Buffer.concat([current.leftover, Buffer.from(data, 'base64')])
    const wholeLength = bytes.length - (bytes.length % 3)
    current.leftover = bytes.subarray(wholeLength)
    if (wholeLength > 0) this.#emitDelta({ data: bytes.toString('base64', 0, wholeLength) })
  }

  #emitPart(content: OutputPart): void {
    const index = this.#startPart(content)
    this.#emit({ type: 'part-end', choice: this.#index, part: index })
  }

  #startPart(content: OutputPart): number {
    this.#closePart()
    if (content.kind !== 'reasoning') this.#hasContent = true
    const index = this.#partCount++
    this.#emit({ type: 'part-start', choice: this.#index, part: index, content })
    return index
  }

  #openPart(kind: OpenPart['kind'], content: OutputPart, mediaType = ''): void {
    const index = this.#startPart(content)
    this.#current = { index, kind, text: '', mediaType, leftover: Buffer.alloc(0) }
  }

  #emitDelta(delta: PartDelta): void {
    if (this.#current)
      this.#emit({ type: 'part-delta', choice: this.#index, part: this.#current.index, delta })
  }

  #closePart(): void {
    const current = this.#current
    if (!current) return
    if (current.leftover.length > 0) this.#emitDelta({ data: current.leftover.toString('base64') })
    this.#current = null
    this.#emit({ type: 'part-end', choice: this.#index, part: current.index })
  }
}
