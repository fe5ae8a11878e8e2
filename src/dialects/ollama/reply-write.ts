import { z } from 'zod'
import type { ChoiceEnd, Reply, ReplyEvent } from '../../call/event.ts'
import type { OutputPart, TokenLogprob, ToolCallPart } from '../../call/part.ts'
import { type Bill, completionTokens, noTokens, promptTokens, type Usage } from '../../call/usage.ts'
import { envelope, type GatewayError } from '../../errors.ts'
import type { JsonObject } from '../../lib/loose.ts'
import { writeUsage } from '../chat/usage.ts'
import { explained, type ReplyFacts, type ReplyWriter } from '../dialect.ts'
import { inputOf } from '../messages/tools.ts'

/** What a record says of the answer: chat and generate put it into different fields. */
export interface Said {
  text?: string
  thinking?: string
  calls?: ToolCallPart[]
  logprobs?: TokenLogprob[]
}

export type Place = (said: Said) => JsonObject

export const inMessage: Place = ({ text = '', thinking, calls = [], logprobs }) => ({
  message: {
    role: 'assistant',
    content: text,
    ...(thinking !== undefined && { thinking }),
    ...(calls.length > 0 && { tool_calls: calls.map(encodeCall) }),
  },
  ...encodeLogprobs(logprobs),
})

export const inResponse: Place = ({ text = '', thinking, logprobs }) => ({
  response: text,
  ...(thinking !== undefined && { thinking }),
  ...encodeLogprobs(logprobs),
})

function encodeCall({ id, name, arguments: given, custom }: ToolCallPart): JsonObject {
  return { id, function: { name, arguments: inputOf(given, custom) } }
}

function encodeLogprobs(logprobs: TokenLogprob[] | undefined): JsonObject {
  if (!logprobs) return {}
  const encoded = logprobs.map(({ token, logprob, bytes, top }) => ({
    ...{ token, logprob, bytes },
    top_logprobs: top,
  }))
  return { logprobs: encoded }
}

function head({ model, provider, created }: ReplyFacts): JsonObject {
  return { model, provider, created_at: new Date(created * 1000).toISOString() }
}

/** Durations are in nanoseconds; what was waited for before the first word counts as reading the prompt. */
function lastFields(
  about: ReplyFacts,
  end: Pick<ChoiceEnd, 'reason'> | null,
  { usage, bill, firstMs }: { usage: Usage; bill: Bill; firstMs: number },
): JsonObject {
  const total = about.elapsedMs?.() ?? 0
  const nanos = (ms: number) => Math.round(ms * 1e6)
  return {
    done: true,
    done_reason: end?.reason === 'length' ? 'length' : 'stop',
    total_duration: nanos(total),
    load_duration: 0,
    prompt_eval_count: promptTokens(usage),
    prompt_eval_duration: nanos(firstMs),
    eval_count: completionTokens(usage),
    eval_duration: nanos(Math.max(0, total - firstMs)),
    usage: writeUsage(usage, bill),
    ...explained(about),
  }
}

const line = (record: JsonObject) => `${JSON.stringify(record)}\n`

/** A record a line. Calls are shown whole, once their arguments are. */
export class RecordWriter implements ReplyWriter {
  readonly final = null
  readonly #about: ReplyFacts
  readonly #place: Place
  readonly #hidesReasoning: boolean
  readonly #parts = new Map<number, OutputPart>()
  #end: ChoiceEnd | null = null
  #firstMs: number | null = null

  constructor(about: ReplyFacts, place: Place) {
    this.#about = about
    this.#place = place
    this.#hidesReasoning = about.call.reasoning?.exclude === true
  }

  write(event: ReplyEvent): string {
    // The format has room for one answer.
    if (!('choice' in event) || event.choice !== 0) return ''
    switch (event.type) {
      case 'part-start':
        return this.#begin(event.part, event.content)
      case 'part-delta': {
        const part = this.#parts.get(event.part)
        if (part?.kind === 'tool-call') part.arguments += event.delta.arguments ?? ''
        if (part?.kind === 'text' || part?.kind === 'refusal')
          return this.#text(event.delta.text, event.delta.logprobs)
        return part?.kind === 'reasoning' ? this.#thought(event.delta.text ?? event.delta.summary) : ''
      }
      case 'part-end':
        return this.#close(event.part)
      case 'choice-end':
        this.#end = event
        return ''
    }
  }

  end(usage: Usage, bill: Bill): string {
    const open = [...this.#parts.keys()].map((part) => this.#close(part)).join('')
    const firstMs = this.#firstMs ?? 0
    const last = lastFields(this.#about, this.#end, { usage, bill, firstMs })
    return open + line({ ...head(this.#about), ...this.#place({}), ...last })
  }

  fail(error: GatewayError): string {
    return line(encodeError(error, this.#about.id))
  }

  #begin(number: number, content: OutputPart): string {
    this.#firstMs ??= this.#about.elapsedMs?.() ?? 0
    this.#parts.set(number, content.kind === 'tool-call' ? { ...content } : content)
    if (content.kind === 'text') return this.#text(content.text, content.logprobs)
    if (content.kind === 'refusal') return this.#text(content.text)
    return content.kind === 'reasoning' ? this.#thought(content.text || content.summary.join('\n\n')) : ''
  }

  #text(text: string | undefined, logprobs?: TokenLogprob[]): string {
    return text || logprobs ? this.#record({ text: text ?? '', ...(logprobs && { logprobs }) }) : ''
  }

  #thought(thinking: string | undefined): string {
    return thinking && !this.#hidesReasoning ? this.#record({ thinking }) : ''
  }

  #close(number: number): string {
    const part = this.#parts.get(number)
    this.#parts.delete(number)
    return part?.kind === 'tool-call' ? this.#record({ calls: [part] }) : ''
  }

  #record(said: Said): string {
    return line({ ...head(this.#about), ...this.#place(said), done: false })
  }
}

export function encodeWhole(reply: Reply, about: ReplyFacts, bill: Bill, place: Place): JsonObject {
  const choice = reply.choices[0]
  const parts = choice?.parts ?? []
  const calls = parts.filter((part) => part.kind === 'tool-call')
  const text = parts
    .flatMap((part) => (part.kind === 'text' || part.kind === 'refusal' ? [part.text] : []))
    .join('')
  const thinking = parts
    .flatMap((part) => (part.kind === 'reasoning' ? [part.text || part.summary.join('\n\n')] : []))
    .join('\n\n')
  const logprobs = parts.flatMap((part) => (part.kind === 'text' ? (part.logprobs ?? []) : []))
  const isShown = thinking !== '' && about.call.reasoning?.exclude !== true
  const said: Said = {
    ...{ text, calls },
    ...(isShown && { thinking }),
    ...(logprobs.length > 0 && { logprobs }),
  }
  const last = lastFields(about, choice?.end ?? null, { usage: reply.usage ?? noTokens, bill, firstMs: 0 })
  return { ...head(about), ...place(said), ...last }
}

export const errorSchema = z
  .looseObject({
    error: z.string().describe('The message'),
    code: z.int().describe('The HTTP status'),
    type: z.string().optional(),
    metadata: z.looseObject({ error_type: z.string(), reason: z.string() }).nullish(),
    user_id: z.string().nullish(),
  })
  .meta({ id: 'OllamaError' })

/** Clients show `error` as it is, so it is the message; the rest of the envelope stands beside it. */
export function encodeError(error: GatewayError, requestId: string): JsonObject {
  const { error: inner, ...beside } = envelope(error, requestId)
  const { message, ...details } = inner
  return { error: message, ...details, ...beside }
}
