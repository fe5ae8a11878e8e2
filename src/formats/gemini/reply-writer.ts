import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import { type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import type { Choice, ChoiceEnd, Reply, ReplyEvent } from '../call/event.ts'
import type { OutputPart, ReasoningPart, TextPart } from '../call/part.ts'
import type { Usage, UsageCost } from '../call/usage.ts'
import { encodeServiceMetadata, type ReplyContext, type ReplyWriter } from '../wire-format.ts'
import { encodeError } from './error.ts'
import { encodeFinishReason } from './finish-reason.ts'
import { encodeGrounding, encodeLogprobs } from './grounding.ts'
import { encodeOutputPart } from './output-parts-encode.ts'
import { attachSignatures } from './parts-encode.ts'
import { PartsWriter } from './parts-writer.ts'
import { nativeFormat, packForeignReasoning, readableTextOf } from './thoughts.ts'
import { encodeServedTier, encodeUsage } from './usage.ts'

export function formatFrame(value: JsonObject): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

export class GeminiWriter implements ReplyWriter {
  /** The format's last chunk does not repeat the reply. */
  readonly finalBody = null
  readonly #context: ReplyContext
  #tier: ReplyContext['tier']
  readonly #choices = new Map<number, { parts: PartsWriter; end: ChoiceEnd | null }>()

  constructor(context: ReplyContext) {
    this.#context = context
    this.#tier = context.tier
  }

  write(event: ReplyEvent): string {
    switch (event.type) {
      case 'reply-start':
        this.#tier = event.serviceTier ?? this.#tier
        return ''
      case 'part-start':
        return this.#formatChunk(
          event.choice,
          this.#partsWriterOf(event.choice).start(event.part, event.content),
        )
      case 'part-delta':
        return this.#formatChunk(
          event.choice,
          this.#partsWriterOf(event.choice).append(event.part, event.delta),
        )
      case 'part-end':
        return this.#formatChunk(event.choice, this.#partsWriterOf(event.choice).end(event.part))
      case 'choice-end':
        this.#openChoice(event.choice).end = event
        return ''
      default:
        return ''
    }
  }

  end(usage: Usage, cost: UsageCost): string {
    const choices = [...this.#choices].sort(([a], [b]) => a - b)
    const candidates = choices.map(([index, { parts, end }]) => {
      const rest = parts.finish()
      const content = { role: 'model', parts: rest.length > 0 ? rest : [{ text: '' }] }
      return { content, ...encodeChoiceEnd(parts.listParts(), end), index }
    })
    const usageMetadata = { ...encodeUsage(usage, cost), ...encodeServedTier(this.#tier) }
    return formatFrame({
      candidates,
      usageMetadata,
      ...encodeIdentity(this.#context),
      ...encodeServiceMetadata(this.#context),
    })
  }

  fail(error: GatewayError): string {
    return formatFrame(encodeError(error, this.#context.id))
  }

  #openChoice(index: number) {
    const existing = this.#choices.get(index)
    if (existing) return existing
    const showsReasoning = this.#context.call.reasoning?.exclude !== true
    const choice = { parts: new PartsWriter(showsReasoning), end: null }
    this.#choices.set(index, choice)
    return choice
  }

  #partsWriterOf(index: number): PartsWriter {
    return this.#openChoice(index).parts
  }

  #formatChunk(index: number, parts: JsonObject[]): string {
    if (parts.length === 0) return ''
    return formatFrame({
      candidates: [{ content: { role: 'model', parts }, index }],
      ...encodeIdentity(this.#context),
    })
  }
}

function encodeIdentity(context: ReplyContext): JsonObject {
  return { modelVersion: context.model, responseId: context.id }
}

export function encodeReply(reply: Reply, context: ReplyContext, cost: UsageCost): JsonObject {
  const showsReasoning = context.call.reasoning?.exclude !== true
  return omitUndefined({
    candidates: reply.choices.map((choice) => encodeChoice(choice, showsReasoning)),
    usageMetadata: reply.usage
      ? { ...encodeUsage(reply.usage, cost), ...encodeServedTier(reply.start.serviceTier ?? context.tier) }
      : undefined,
    ...encodeIdentity(context),
    ...encodeServiceMetadata(context),
  })
}

function encodeChoice({ parts, end, index }: Choice, showsReasoning: boolean): JsonObject {
  const encoded = attachSignatures(parts, encodeOutputPart, (part) => encodeThought(part, showsReasoning))
  return { content: { role: 'model', parts: encoded }, ...encodeChoiceEnd(parts, end), index }
}

/** Finish reason, citations and logprobs of a candidate. */
function encodeChoiceEnd(parts: OutputPart[], end: ChoiceEnd | null): JsonObject {
  const hasRefusal = parts.some((part) => part.kind === 'refusal')
  const texts = parts.filter((part) => part.kind === 'text')
  const logprobs = texts.flatMap((part) => part.logprobs ?? [])
  return omitUndefined({
    finishReason: end ? encodeFinishReason(end, hasRefusal) : undefined,
    finishMessage: end?.explanation,
    groundingMetadata: texts.some((part) => part.citations?.length) ? encodeTextGrounding(texts) : undefined,
    logprobsResult: logprobs.length > 0 ? encodeLogprobs(logprobs) : undefined,
  })
}

function encodeTextGrounding(texts: TextPart[]): JsonObject {
  let base = 0
  return encodeGrounding(
    texts.map(({ text, citations = [] }) => {
      const citedText = { text, base, citations }
      base += Buffer.byteLength(text)
      return citedText
    }),
  )
}

function encodeThought(part: ReasoningPart, showsReasoning: boolean): JsonObject | undefined {
  const text = showsReasoning ? readableTextOf(part) : ''
  const signature = part.format === nativeFormat ? part.signature : packForeignReasoning(part, showsReasoning)
  if (text === '' && signature === undefined) return undefined
  return omitUndefined({ text, thought: true, thoughtSignature: signature })
}
