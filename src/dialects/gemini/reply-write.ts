import type { Choice, ChoiceEnd, Reply, ReplyEvent } from '../../call/event.ts'
import type { OutputPart, ReasoningPart, TextPart } from '../../call/part.ts'
import type { Bill, Usage } from '../../call/usage.ts'
import type { GatewayError } from '../../errors.ts'
import { defined, type JsonObject } from '../../lib/loose.ts'
import { explained, type ReplyFacts, type ReplyWriter } from '../dialect.ts'
import { encodeError } from './error.ts'
import { finishWord } from './finish.ts'
import { writeGrounding, writeLogprobs } from './grounding.ts'
import { encodeOutput } from './output-encode.ts'
import { attachSignatures } from './parts-encode.ts'
import { ReplyParts } from './reply-parts.ts'
import { ownFormat, packForeign, readable } from './thoughts.ts'
import { tierField, writeUsage } from './usage.ts'

export function frameOf(value: JsonObject): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

export class GeminiWriter implements ReplyWriter {
  /** The last chunk of this format does not repeat the reply. */
  readonly final = null
  readonly #about: ReplyFacts
  #tier: ReplyFacts['tier']
  readonly #choices = new Map<number, { parts: ReplyParts; end: ChoiceEnd | null }>()

  constructor(about: ReplyFacts) {
    this.#about = about
    this.#tier = about.tier
  }

  write(event: ReplyEvent): string {
    switch (event.type) {
      case 'reply-start':
        this.#tier = event.serviceTier ?? this.#tier
        return ''
      case 'part-start':
        return this.#chunk(event.choice, this.#parts(event.choice).start(event.part, event.content))
      case 'part-delta':
        return this.#chunk(event.choice, this.#parts(event.choice).delta(event.part, event.delta))
      case 'part-end':
        return this.#chunk(event.choice, this.#parts(event.choice).end(event.part))
      case 'choice-end':
        this.#choice(event.choice).end = event
        return ''
      default:
        return ''
    }
  }

  end(usage: Usage, bill: Bill): string {
    const choices = [...this.#choices].sort(([a], [b]) => a - b)
    const candidates = choices.map(([index, { parts, end }]) => {
      const rest = parts.finish()
      const content = { role: 'model', parts: rest.length > 0 ? rest : [{ text: '' }] }
      return { content, ...endOf(parts.contents(), end), index }
    })
    const usageMetadata = { ...writeUsage(usage, bill), ...tierField(this.#tier) }
    return frameOf({ candidates, usageMetadata, ...named(this.#about), ...explained(this.#about) })
  }

  fail(error: GatewayError): string {
    return frameOf(encodeError(error, this.#about.id))
  }

  #choice(index: number) {
    const known = this.#choices.get(index)
    if (known) return known
    const shown = this.#about.call.reasoning?.exclude !== true
    const choice = { parts: new ReplyParts(shown), end: null }
    this.#choices.set(index, choice)
    return choice
  }

  #parts(index: number): ReplyParts {
    return this.#choice(index).parts
  }

  #chunk(index: number, parts: JsonObject[]): string {
    if (parts.length === 0) return ''
    return frameOf({ candidates: [{ content: { role: 'model', parts }, index }], ...named(this.#about) })
  }
}

function named(about: ReplyFacts): JsonObject {
  return { modelVersion: about.model, responseId: about.id }
}

export function encodeReply(reply: Reply, about: ReplyFacts, bill: Bill): JsonObject {
  const shown = about.call.reasoning?.exclude !== true
  return defined({
    candidates: reply.choices.map((choice) => encodeChoice(choice, shown)),
    usageMetadata: reply.usage
      ? { ...writeUsage(reply.usage, bill), ...tierField(reply.start.serviceTier ?? about.tier) }
      : undefined,
    ...named(about),
    ...explained(about),
  })
}

function encodeChoice({ parts, end, index }: Choice, shown: boolean): JsonObject {
  const encoded = attachSignatures(parts, encodeOutput, (part) => encodeThought(part, shown))
  return { content: { role: 'model', parts: encoded }, ...endOf(parts, end), index }
}

/** How a candidate ended, and what is said about its text. */
function endOf(parts: OutputPart[], end: ChoiceEnd | null): JsonObject {
  const refused = parts.some((part) => part.kind === 'refusal')
  const texts = parts.filter((part) => part.kind === 'text')
  const logprobs = texts.flatMap((part) => part.logprobs ?? [])
  return defined({
    finishReason: end ? finishWord(end, refused) : undefined,
    finishMessage: end?.explanation,
    groundingMetadata: texts.some((part) => part.citations?.length) ? grounding(texts) : undefined,
    logprobsResult: logprobs.length > 0 ? writeLogprobs(logprobs) : undefined,
  })
}

function grounding(texts: TextPart[]): JsonObject {
  let base = 0
  return writeGrounding(
    texts.map(({ text, citations = [] }) => {
      const cited = { text, base, citations }
      base += Buffer.byteLength(text)
      return cited
    }),
  )
}

function encodeThought(part: ReasoningPart, shown: boolean): JsonObject | undefined {
  const text = shown ? readable(part) : ''
  const signature = part.format === ownFormat ? part.signature : packForeign(part, shown)
  if (text === '' && signature === undefined) return undefined
  return defined({ text, thought: true, thoughtSignature: signature })
}
