import type { ChoiceEnd, PartDelta, ReplyEvent } from '../../call/event.ts'
import type { OutputPart, ReasoningPart, TextPart, TokenLogprob } from '../../call/part.ts'
import type { Bill, Usage } from '../../call/usage.ts'
import type { GatewayError } from '../../errors.ts'
import { type JsonObject, textOf } from '../../lib/loose.ts'
import { explained, type ReplyFacts, type ReplyWriter } from '../dialect.ts'
import { isDisguised, undisguised } from '../free-text.ts'
import { chunkHead, failedChunk, lastChunks } from './chunk.ts'
import { urlOf } from './parts-decode.ts'
import { encodeCitation } from './parts-encode.ts'
import {
  DetailNumbers,
  type DetailWriter,
  isBareSignature,
  readableOf,
  writeDetails,
} from './reasoning-details.ts'
import { writeUsage } from './usage.ts'

export function writer(about: ReplyFacts): ReplyWriter {
  return new ChatWriter(about)
}

interface OpenPart {
  content: OutputPart
  /** Of a call: which one it is within its choice. Of a text: where it begins within the content. */
  place: number
  details: DetailWriter | null
  /** Signatures come in one piece to clients: not all of them join pieces. */
  signature: string
  encrypted: string
  sections: number
  /** Of a call that must be turned back into free text: its arguments so far, which go out when they are whole. */
  disguised: string | null
}

interface OpenChoice {
  parts: Map<number, OpenPart>
  calls: number
  length: number
  numbers: DetailNumbers
  end: ChoiceEnd | null
}

const middle = ',"finish_reason":null,"native_finish_reason":null,"logprobs":'

class ChatWriter implements ReplyWriter {
  readonly final = null
  readonly #choices = new Map<number, OpenChoice>()
  #head: JsonObject
  #start = ''
  readonly #hidesReasoning: boolean
  readonly #about: ReplyFacts

  constructor(about: ReplyFacts) {
    this.#about = about
    this.#head = chunkHead(about)
    if (about.tier !== null) this.#head.service_tier = about.tier
    this.#hidesReasoning = about.call.reasoning?.exclude === true
  }

  write(event: ReplyEvent): string {
    switch (event.type) {
      case 'reply-start':
        if (event.serviceTier !== undefined) this.#head.service_tier = event.serviceTier
        if (event.fingerprint !== undefined) this.#head.system_fingerprint = event.fingerprint
        return ''
      case 'part-start':
        return this.#begin(event.choice, event.part, event.content)
      case 'part-delta': {
        const part = this.#choices.get(event.choice)?.parts.get(event.part)
        return part ? this.#append(event.choice, part, event.delta) : ''
      }
      case 'part-end':
        return this.#close(event.choice, event.part)
      case 'choice-end':
        return this.#endChoice(event)
      default:
        return ''
    }
  }

  end(usage: Usage, bill: Bill): string {
    let text = ''
    const chunks: JsonObject[] = []
    for (const [index, choice] of [...this.#choices].sort(([a], [b]) => a - b)) {
      for (const part of choice.parts.keys()) text += this.#close(index, part)
      const ending = { index, delta: {}, ...endFields(choice.end), logprobs: null }
      chunks.push({ ...this.#head, choices: [ending] })
    }
    const whole = { ...this.#head, usage: writeUsage(usage, bill), ...explained(this.#about) }
    return text + lastChunks(chunks, whole, this.#about)
  }

  fail(error: GatewayError): string {
    return failedChunk(this.#head, error)
  }

  #endChoice(end: ChoiceEnd): string {
    const known = this.#choices.has(end.choice)
    const choice = this.#choice(end.choice)
    choice.end = end
    // An answer without any content is still an answer: it begins like the others.
    return known ? '' : this.#chunk(end.choice, { role: 'assistant', content: '' })
  }

  #choice(index: number): OpenChoice {
    let choice = this.#choices.get(index)
    if (!choice) {
      const numbers = new DetailNumbers(this.#about.formatNames)
      choice = { parts: new Map(), calls: 0, length: 0, numbers, end: null }
      this.#choices.set(index, choice)
    }
    return choice
  }

  #chunk(index: number, delta: JsonObject, logprobs: JsonObject | null = null): string {
    // What all chunks have in common is written once.
    if (this.#start === '')
      this.#start = `data: ${JSON.stringify(this.#head).slice(0, -1)},"choices":[{"index":`
    return `${this.#start}${index},"delta":${JSON.stringify(delta)}${middle}${JSON.stringify(logprobs)}}]}\n\n`
  }

  #begin(index: number, number: number, content: OutputPart): string {
    const first = !this.#choices.has(index)
    const choice = this.#choice(index)
    const part: OpenPart = {
      content,
      place: content.kind === 'tool-call' ? choice.calls++ : choice.length,
      details: content.kind === 'reasoning' ? choice.numbers.part() : null,
      signature: '',
      encrypted: '',
      sections: 0,
      disguised:
        content.kind === 'tool-call' && isDisguised(content, this.#about.call) ? content.arguments : null,
    }
    choice.parts.set(number, part)
    if (content.kind === 'text') choice.length += content.text.length
    const delta = this.#opening(part)
    // The role comes once, with whatever is first.
    if (first) return this.#chunk(index, { role: 'assistant', content: '', ...delta }, logprobsOf(content))
    return delta ? this.#chunk(index, delta, logprobsOf(content)) : ''
  }

  #opening({ content, place, details, disguised }: OpenPart): JsonObject | null {
    switch (content.kind) {
      case 'text':
        return openingText(content, place)
      case 'refusal':
        return content.text === '' ? null : { refusal: content.text }
      case 'tool-call': {
        const { id, name } = content
        const input = disguised === null ? content.arguments : ''
        const call =
          content.custom || disguised !== null
            ? { index: place, id, type: 'custom', custom: { name, input } }
            : { index: place, id, type: 'function', function: { name, arguments: content.arguments } }
        return { tool_calls: [call] }
      }
      case 'reasoning':
        return details ? this.#openingThought(content, details) : null
      case 'image': {
        const url = urlOf(content.source)
        return url === undefined ? null : { images: [{ type: 'image_url', image_url: { url } }] }
      }
      case 'audio':
        return { audio: audioFields(content) }
      case 'opaque':
        return this.#hidesReasoning ? null : openingOpaque(content)
    }
  }

  #openingThought(part: ReasoningPart, details: DetailWriter): JsonObject | null {
    if (this.#hidesReasoning) return null
    const entries = writeDetails(part, details)
    if (entries.length === 0) return null
    const text = readableOf(part)
    return { ...(text !== '' && { reasoning: text }), reasoning_details: entries }
  }

  #append(index: number, part: OpenPart, delta: PartDelta): string {
    switch (part.content.kind) {
      case 'text':
        return this.#appendText(index, part, delta)
      case 'refusal':
        return delta.text ? this.#chunk(index, { refusal: delta.text }) : ''
      case 'tool-call': {
        const text = delta.arguments
        if (!text) return ''
        if (part.disguised !== null) {
          part.disguised += text
          return ''
        }
        const piece = part.content.custom ? { custom: { input: text } } : { function: { arguments: text } }
        return this.#chunk(index, { tool_calls: [{ index: part.place, ...piece }] })
      }
      case 'reasoning':
        return part.details ? this.#appendThought(index, part, part.content, part.details, delta) : ''
      case 'audio': {
        const { data, transcript } = delta
        const audio = { ...(data !== undefined && { data }), ...(transcript !== undefined && { transcript }) }
        return this.#chunk(index, { audio })
      }
      default:
        return ''
    }
  }

  #appendText(index: number, part: OpenPart, { text, citation, logprobs }: PartDelta): string {
    const choice = this.#choice(index)
    choice.length += text?.length ?? 0
    const annotation = citation && encodeCitation(citation, part.place)
    if (!text && !annotation && !logprobs) return ''
    const delta = { content: text ?? '', ...(annotation && { annotations: [annotation] }) }
    return this.#chunk(
      index,
      delta,
      logprobs ? { content: logprobs.map(encodeLogprob), refusal: null } : null,
    )
  }

  #appendThought(
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
      entries.push(details.summary(content, delta.summary, section))
    }
    if (delta.text) entries.push(details.text(content, delta.text))
    if (entries.length === 0) return ''
    const text = (delta.summary ?? '') + (delta.text ?? '')
    return this.#chunk(index, { ...(text !== '' && { reasoning: text }), reasoning_details: entries })
  }

  #closeDisguised(index: number, part: OpenPart, given: string): string {
    part.disguised = null
    const call = { index: part.place, custom: { input: undisguised(given) } }
    return given === '' ? '' : this.#chunk(index, { tool_calls: [call] })
  }

  #close(index: number, number: number): string {
    const part = this.#choices.get(index)?.parts.get(number)
    if (part && part.disguised !== null) return this.#closeDisguised(index, part, part.disguised)
    if (part?.content.kind !== 'reasoning' || !part.details) return ''
    const { signature, encrypted, content, details } = part
    const entries: JsonObject[] = []
    const sealed: ReasoningPart = { ...content, signature }
    if (signature !== '' && isBareSignature(sealed) && !details.hasText) {
      entries.push(details.encrypted(content, signature))
    } else if (signature !== '') entries.push(details.text(content, '', signature))
    if (encrypted !== '') entries.push(details.encrypted(content, encrypted))
    part.signature = part.encrypted = ''
    return entries.length > 0 ? this.#chunk(index, { reasoning_details: entries }) : ''
  }
}

/** How a choice ended; what the format has no field for is there only when it is known. */
export function endFields(end: ChoiceEnd | null): JsonObject {
  return {
    finish_reason: end?.reason ?? 'stop',
    native_finish_reason: end?.native ?? null,
    ...(end?.stopSequence !== undefined && { stop_sequence: end.stopSequence }),
    ...(end?.explanation !== undefined && { finish_explanation: end.explanation }),
  }
}

function openingText(content: TextPart, place: number): JsonObject | null {
  const annotations = annotationsOf(content, place)
  if (content.text === '' && annotations.length === 0 && !content.logprobs) return null
  return { content: content.text, ...(annotations.length > 0 && { annotations }) }
}

export function annotationsOf(text: TextPart, place: number): JsonObject[] {
  return (text.citations ?? [])
    .map((citation) => encodeCitation(citation, place))
    .filter((annotation) => annotation !== undefined)
}

/** Entries of the thinking that have no part of their own here. */
export function openingOpaque(part: OutputPart): JsonObject | null {
  if (part.kind !== 'opaque' || part.dialect !== 'chat') return null
  return textOf(part.value.type)?.startsWith('reasoning.') ? { reasoning_details: [part.value] } : null
}

export function audioFields(part: OutputPart & { kind: 'audio' }): JsonObject {
  return {
    ...(part.id !== undefined && { id: part.id }),
    ...(part.data !== '' && { data: part.data }),
    ...(part.format !== '' && { format: part.format }),
    ...(part.transcript !== undefined && { transcript: part.transcript }),
    ...(part.expiresAt !== undefined && { expires_at: part.expiresAt }),
  }
}

function logprobsOf(content: OutputPart): JsonObject | null {
  if (content.kind !== 'text' || !content.logprobs) return null
  return { content: content.logprobs.map(encodeLogprob), refusal: null }
}

export function encodeLogprob({ token, logprob, bytes, top }: TokenLogprob): JsonObject {
  return { token, logprob, bytes, top_logprobs: top }
}
