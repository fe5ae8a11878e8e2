import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import { asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { ChoiceEnd, PartDelta, ReplyEvent } from '../call/event.ts'
import type { OutputPart, ReasoningPart, ServerToolPart, TextPart, TokenLogprob } from '../call/part.ts'
import type { Usage, UsageCost } from '../call/usage.ts'
import { isWrappedCustomCall, unwrapCustomInput } from '../custom-tools.ts'
import { encodeServiceMetadata, type ReplyContext, type ReplyWriter } from '../wire-format.ts'
import { buildChunkHead, formatErrorChunk, formatLastChunks } from './chunk.ts'
import { urlOf } from './parts-decode.ts'
import { encodeCitation } from './parts-encode.ts'
import {
  DetailNumbering,
  type DetailWriter,
  encodeReasoningDetails,
  isBareSignature,
  readableTextOf,
} from './reasoning-details.ts'
import { encodeUsage } from './usage.ts'

export function createWriter(context: ReplyContext): ReplyWriter {
  return new ChatWriter(context)
}

interface OpenPart {
  content: OutputPart
  /** The index of a tool call in the choice, or the offset of a text in the content. */
  position: number
  details: DetailWriter | null
  /** Buffered: not all clients join signature deltas. */
  signature: string
  encrypted: string
  sections: number
  /** The arguments so far of a wrapped free-text call, which are unwrapped when complete. */
  wrappedInput: string | null
}

type ListName = 'annotations' | 'reasoning_details'

interface OpenChoice {
  parts: Map<number, OpenPart>
  toolCallCount: number
  textLength: number
  numbering: DetailNumbering
  /** Lists that SDKs of the vendor are sent at the end, because they do not join those of several chunks. */
  held: Partial<Record<ListName, JsonObject[]>>
  end: ChoiceEnd | null
}

const chunkMiddle = ',"finish_reason":null,"native_finish_reason":null,"logprobs":'

class ChatWriter implements ReplyWriter {
  readonly finalBody = null
  readonly #choices = new Map<number, OpenChoice>()
  #head: JsonObject
  #chunkPrefix = ''
  readonly #hidesReasoning: boolean
  readonly #context: ReplyContext

  constructor(context: ReplyContext) {
    this.#context = context
    this.#head = buildChunkHead(context)
    if (context.tier !== null) this.#head.service_tier = context.tier
    this.#hidesReasoning = context.call.reasoning?.exclude === true
  }

  write(event: ReplyEvent): string {
    switch (event.type) {
      case 'reply-start':
        if (event.serviceTier !== undefined) this.#head.service_tier = event.serviceTier
        if (event.fingerprint !== undefined) this.#head.system_fingerprint = event.fingerprint
        return ''
      case 'part-start':
        return this.#startPart(event.choice, event.part, event.content)
      case 'part-delta': {
        const part = this.#choices.get(event.choice)?.parts.get(event.part)
        return part ? this.#writeDelta(event.choice, part, event.delta) : ''
      }
      case 'part-end':
        return this.#endPart(event.choice, event.part)
      case 'choice-end':
        return this.#endChoice(event)
      default:
        return ''
    }
  }

  end(usage: Usage, cost: UsageCost): string {
    let text = ''
    const chunks: JsonObject[] = []
    for (const [index, choice] of [...this.#choices].sort(([a], [b]) => a - b)) {
      for (const part of choice.parts.keys()) text += this.#endPart(index, part)
      const ending = { index, delta: choice.held, ...encodeChoiceEnd(choice.end), logprobs: null }
      chunks.push({ ...this.#head, choices: [ending] })
    }
    const finalFields = {
      ...this.#head,
      usage: encodeUsage(usage, cost),
      ...encodeServiceMetadata(this.#context),
    }
    return text + formatLastChunks(chunks, finalFields, this.#context)
  }

  fail(error: GatewayError): string {
    return formatErrorChunk(this.#head, error)
  }

  #endChoice(end: ChoiceEnd): string {
    const known = this.#choices.has(end.choice)
    const choice = this.#openChoice(end.choice)
    choice.end = end
    // A choice without content starts with a role like any other.
    return known ? '' : this.#formatChunk(end.choice, { role: 'assistant', content: '' })
  }

  #openChoice(index: number): OpenChoice {
    let choice = this.#choices.get(index)
    if (!choice) {
      const numbering = new DetailNumbering(this.#context.formatNames)
      choice = { parts: new Map(), toolCallCount: 0, textLength: 0, numbering, held: {}, end: null }
      this.#choices.set(index, choice)
    }
    return choice
  }

  #formatChunk(index: number, delta: JsonObject, logprobs: JsonObject | null = null): string {
    // The part that all chunks share is serialized once.
    if (this.#chunkPrefix === '')
      this.#chunkPrefix = `data: ${JSON.stringify(this.#head).slice(0, -1)},"choices":[{"index":`
    return `${this.#chunkPrefix}${index},"delta":${JSON.stringify(delta)}${chunkMiddle}${JSON.stringify(logprobs)}}]}\n\n`
  }

  #startPart(index: number, number: number, content: OutputPart): string {
    const first = !this.#choices.has(index)
    const choice = this.#openChoice(index)
    const part: OpenPart = {
      content,
      position: content.kind === 'tool-call' ? choice.toolCallCount++ : choice.textLength,
      details:
        content.kind === 'reasoning' || content.kind === 'server-tool' ? choice.numbering.nextWriter() : null,
      signature: '',
      encrypted: '',
      sections: 0,
      wrappedInput:
        content.kind === 'tool-call' && isWrappedCustomCall(content, this.#context.call)
          ? content.arguments
          : null,
    }
    choice.parts.set(number, part)
    if (content.kind === 'text') choice.textLength += content.text.length
    const delta = this.#encodeStart(part)
    // The first delta of a choice carries the role.
    if (first)
      return this.#formatChunk(index, { role: 'assistant', content: '', ...delta }, encodeLogprobs(content))
    return delta ? this.#formatChunk(index, delta, encodeLogprobs(content)) : ''
  }

  #encodeStart({ content, position, details, wrappedInput }: OpenPart): JsonObject | null {
    switch (content.kind) {
      case 'text':
        return encodeTextStart(content, position)
      case 'refusal':
        return content.text === '' ? null : { refusal: content.text }
      case 'tool-call': {
        const { id, name } = content
        const input = wrappedInput === null ? content.arguments : ''
        const toolCall =
          content.custom || wrappedInput !== null
            ? { index: position, id, type: 'custom', custom: { name, input } }
            : { index: position, id, type: 'function', function: { name, arguments: content.arguments } }
        return { tool_calls: [toolCall] }
      }
      case 'reasoning':
        return details ? this.#encodeReasoningStart(content, details) : null
      case 'image': {
        const url = urlOf(content.source)
        return url === undefined ? null : { images: [{ type: 'image_url', image_url: { url } }] }
      }
      case 'audio':
        return { audio: encodeAudio(content) }
      case 'server-tool':
        return null
      case 'opaque':
        return this.#hidesReasoning ? null : encodeOpaqueStart(content)
    }
  }

  #encodeReasoningStart(part: ReasoningPart, details: DetailWriter): JsonObject | null {
    if (this.#hidesReasoning) return null
    const entries = encodeReasoningDetails(part, details)
    if (entries.length === 0) return null
    const text = readableTextOf(part)
    return { ...(text !== '' && { reasoning: text }), reasoning_details: entries }
  }

  #writeDelta(index: number, part: OpenPart, delta: PartDelta): string {
    switch (part.content.kind) {
      case 'text':
        return this.#writeTextDelta(index, part, delta)
      case 'refusal':
        return delta.text ? this.#formatChunk(index, { refusal: delta.text }) : ''
      case 'tool-call': {
        const text = delta.arguments
        if (!text) return ''
        if (part.wrappedInput !== null) {
          part.wrappedInput += text
          return ''
        }
        const argumentsDelta = part.content.custom
          ? { custom: { input: text } }
          : { function: { arguments: text } }
        return this.#formatChunk(index, { tool_calls: [{ index: part.position, ...argumentsDelta }] })
      }
      case 'reasoning':
        return part.details ? this.#writeReasoningDelta(index, part, part.content, part.details, delta) : ''
      case 'audio': {
        const { data, transcript } = delta
        const audio = { ...(data !== undefined && { data }), ...(transcript !== undefined && { transcript }) }
        return this.#formatChunk(index, { audio })
      }
      case 'server-tool':
        return this.#writeServerTool(index, part, part.content, delta)
      default:
        return ''
    }
  }

  /** Written once it has ended. */
  #writeServerTool(
    index: number,
    { details }: OpenPart,
    content: ServerToolPart,
    { ended }: PartDelta,
  ): string {
    if (!ended || !details) return ''
    const entry = details.writeServerTool({ ...content, ...ended })
    return this.#writeEntry(index, 'reasoning_details', entry)
  }

  #writeTextDelta(index: number, part: OpenPart, { text, citation, logprobs }: PartDelta): string {
    this.#openChoice(index).textLength += text?.length ?? 0
    const annotation = citation && encodeCitation(citation, part.position)
    const citationChunk = annotation ? this.#writeEntry(index, 'annotations', annotation) : ''
    if (!text && !logprobs) return citationChunk
    const encoded = logprobs ? { content: logprobs.map(encodeLogprob), refusal: null } : null
    return this.#formatChunk(index, { content: text ?? '' }, encoded) + citationChunk
  }

  #writeEntry(index: number, list: ListName, entry: JsonObject): string {
    if (!this.#context.isVendorClient) return this.#formatChunk(index, { [list]: [entry] })
    const { held } = this.#openChoice(index)
    held[list] ??= []
    held[list].push(entry)
    return ''
  }

  #writeReasoningDelta(
    index: number,
    part: OpenPart,
    content: ReasoningPart,
    details: DetailWriter,
    delta: PartDelta,
  ): string {
    if (this.#hidesReasoning) return ''
    part.signature += delta.signature ?? ''
    part.encrypted += delta.encrypted ?? ''
    const entries: JsonObject[] = []
    if (delta.summary !== undefined) {
      const section = delta.section ?? Math.max(0, part.sections - 1)
      part.sections = Math.max(part.sections, section + 1)
      entries.push(details.writeSummary(content, delta.summary, section))
    }
    if (delta.text) entries.push(details.writeText(content, delta.text))
    if (entries.length === 0) return ''
    const text = (delta.summary ?? '') + (delta.text ?? '')
    return this.#formatChunk(index, { ...(text !== '' && { reasoning: text }), reasoning_details: entries })
  }

  #closeWrappedCall(index: number, part: OpenPart, argumentsText: string): string {
    part.wrappedInput = null
    const toolCall = { index: part.position, custom: { input: unwrapCustomInput(argumentsText) } }
    return argumentsText === '' ? '' : this.#formatChunk(index, { tool_calls: [toolCall] })
  }

  #endPart(index: number, number: number): string {
    const part = this.#choices.get(index)?.parts.get(number)
    if (part && part.wrappedInput !== null) return this.#closeWrappedCall(index, part, part.wrappedInput)
    if (part?.content.kind !== 'reasoning' || !part.details) return ''
    const { signature, encrypted, content, details } = part
    const entries: JsonObject[] = []
    const signedPart: ReasoningPart = { ...content, signature }
    if (signature !== '' && isBareSignature(signedPart) && !details.hasText) {
      entries.push(details.writeEncrypted(content, signature))
    } else if (signature !== '') entries.push(details.writeText(content, '', signature))
    if (encrypted !== '') entries.push(details.writeEncrypted(content, encrypted))
    part.signature = part.encrypted = ''
    return entries.length > 0 ? this.#formatChunk(index, { reasoning_details: entries }) : ''
  }
}

/** The end of a choice; fields that extend the format are only there when set. */
export function encodeChoiceEnd(end: ChoiceEnd | null): JsonObject {
  return {
    finish_reason: end?.reason ?? 'stop',
    native_finish_reason: end?.native ?? null,
    ...(end?.stopSequence !== undefined && { stop_sequence: end.stopSequence }),
    ...(end?.explanation !== undefined && { finish_explanation: end.explanation }),
  }
}

function encodeTextStart(content: TextPart, offset: number): JsonObject | null {
  const annotations = encodeAnnotations(content, offset)
  if (content.text === '' && annotations.length === 0 && !content.logprobs) return null
  return { content: content.text, ...(annotations.length > 0 && { annotations }) }
}

export function encodeAnnotations(text: TextPart, offset: number): JsonObject[] {
  return (text.citations ?? [])
    .map((citation) => encodeCitation(citation, offset))
    .filter((annotation) => annotation !== undefined)
}

/** Reasoning entries of unknown type pass unmodified. */
export function encodeOpaqueStart(part: OutputPart): JsonObject | null {
  if (part.kind !== 'opaque' || part.wireFormat !== 'chat') return null
  return asString(part.value.type)?.startsWith('reasoning.') ? { reasoning_details: [part.value] } : null
}

export function encodeAudio(part: OutputPart & { kind: 'audio' }): JsonObject {
  return {
    ...(part.id !== undefined && { id: part.id }),
    ...(part.data !== '' && { data: part.data }),
    ...(part.format !== '' && { format: part.format }),
    ...(part.transcript !== undefined && { transcript: part.transcript }),
    ...(part.expiresAt !== undefined && { expires_at: part.expiresAt }),
  }
}

function encodeLogprobs(content: OutputPart): JsonObject | null {
  if (content.kind !== 'text' || !content.logprobs) return null
  return { content: content.logprobs.map(encodeLogprob), refusal: null }
}

export function encodeLogprob({ token, logprob, bytes, top }: TokenLogprob): JsonObject {
  return { token, logprob, bytes, top_logprobs: top }
}
