import { z } from 'zod'
import { type GatewayError, toErrorEnvelope } from '../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { ChoiceEnd, Reply, ReplyEvent } from '../call/event.ts'
import type { OutputPart, TokenLogprob, ToolCallPart } from '../call/part.ts'
import {
  countCompletionTokens,
  countPromptTokens,
  type Usage,
  type UsageCost,
  zeroUsage,
} from '../call/usage.ts'
import { encodeUsage } from '../chat/usage.ts'
import { parseToolArguments } from '../messages/tool-arguments.ts'
import { encodeServiceMetadata, type ReplyContext, type ReplyWriter } from '../wire-format.ts'

/** Content of a record; chat and generate encode it in different fields. */
export interface RecordContent {
  text?: string
  thinking?: string
  toolCalls?: ToolCallPart[]
  logprobs?: TokenLogprob[]
}

export type ContentEncoder = (content: RecordContent) => JsonObject

export const encodeChatContent: ContentEncoder = ({ text = '', thinking, toolCalls = [], logprobs }) => ({
  message: {
    role: 'assistant',
    content: text,
    ...(thinking !== undefined && { thinking }),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls.map(encodeToolCall) }),
  },
  ...encodeLogprobs(logprobs),
})

export const encodeGenerateContent: ContentEncoder = ({ text = '', thinking, logprobs }) => ({
  response: text,
  ...(thinking !== undefined && { thinking }),
  ...encodeLogprobs(logprobs),
})

function encodeToolCall({ id, name, arguments: argumentsText, custom }: ToolCallPart): JsonObject {
  return { id, function: { name, arguments: parseToolArguments(argumentsText, custom) } }
}

function encodeLogprobs(logprobs: TokenLogprob[] | undefined): JsonObject {
  if (!logprobs) return {}
  const encoded = logprobs.map(({ token, logprob, bytes, top }) => ({
    ...{ token, logprob, bytes },
    top_logprobs: top,
  }))
  return { logprobs: encoded }
}

function encodeRecordHead({ model, provider, created }: ReplyContext): JsonObject {
  return { model, provider, created_at: new Date(created * 1000).toISOString() }
}

/** Durations are in nanoseconds; the time to the first content counts as prompt evaluation. */
function encodeFinalFields(
  context: ReplyContext,
  end: Pick<ChoiceEnd, 'reason'> | null,
  { usage, cost, firstContentMs }: { usage: Usage; cost: UsageCost; firstContentMs: number },
): JsonObject {
  const total = context.elapsedMs?.() ?? 0
  const toNanoseconds = (ms: number) => Math.round(ms * 1e6)
  return {
    done: true,
    done_reason: end?.reason === 'length' ? 'length' : 'stop',
    total_duration: toNanoseconds(total),
    load_duration: 0,
    prompt_eval_count: countPromptTokens(usage),
    prompt_eval_duration: toNanoseconds(firstContentMs),
    eval_count: countCompletionTokens(usage),
    eval_duration: toNanoseconds(Math.max(0, total - firstContentMs)),
    usage: encodeUsage(usage, cost),
    ...encodeServiceMetadata(context),
  }
}

const formatLine = (record: JsonObject) => `${JSON.stringify(record)}\n`

/** Writes one record per line. Tool calls are written when their arguments are complete. */
export class OllamaWriter implements ReplyWriter {
  readonly finalBody = null
  readonly #context: ReplyContext
  readonly #encodeContent: ContentEncoder
  readonly #hidesReasoning: boolean
  readonly #parts = new Map<number, OutputPart>()
  #choiceEnd: ChoiceEnd | null = null
  #firstContentMs: number | null = null

  constructor(context: ReplyContext, encodeContent: ContentEncoder) {
    this.#context = context
    this.#encodeContent = encodeContent
    this.#hidesReasoning = context.call.reasoning?.exclude === true
  }

  write(event: ReplyEvent): string {
    // The format has one choice.
    if (!('choice' in event) || event.choice !== 0) return ''
    switch (event.type) {
      case 'part-start':
        return this.#startPart(event.part, event.content)
      case 'part-delta': {
        const part = this.#parts.get(event.part)
        if (part?.kind === 'tool-call') part.arguments += event.delta.arguments ?? ''
        if (part?.kind === 'text' || part?.kind === 'refusal')
          return this.#writeText(event.delta.text, event.delta.logprobs)
        return part?.kind === 'reasoning' ? this.#writeThinking(event.delta.text ?? event.delta.summary) : ''
      }
      case 'part-end':
        return this.#endPart(event.part)
      case 'choice-end':
        this.#choiceEnd = event
        return ''
    }
  }

  end(usage: Usage, cost: UsageCost): string {
    const open = [...this.#parts.keys()].map((part) => this.#endPart(part)).join('')
    const firstContentMs = this.#firstContentMs ?? 0
    const last = encodeFinalFields(this.#context, this.#choiceEnd, { usage, cost, firstContentMs })
    return open + formatLine({ ...encodeRecordHead(this.#context), ...this.#encodeContent({}), ...last })
  }

  fail(error: GatewayError): string {
    return formatLine(encodeError(error, this.#context.id))
  }

  #startPart(partIndex: number, content: OutputPart): string {
    this.#firstContentMs ??= this.#context.elapsedMs?.() ?? 0
    this.#parts.set(partIndex, content.kind === 'tool-call' ? { ...content } : content)
    if (content.kind === 'text') return this.#writeText(content.text, content.logprobs)
    if (content.kind === 'refusal') return this.#writeText(content.text)
    return content.kind === 'reasoning'
      ? this.#writeThinking(content.text || content.summary.join('\n\n'))
      : ''
  }

  #writeText(text: string | undefined, logprobs?: TokenLogprob[]): string {
    return text || logprobs ? this.#writeRecord({ text: text ?? '', ...(logprobs && { logprobs }) }) : ''
  }

  #writeThinking(thinking: string | undefined): string {
    return thinking && !this.#hidesReasoning ? this.#writeRecord({ thinking }) : ''
  }

  #endPart(partIndex: number): string {
    const part = this.#parts.get(partIndex)
    this.#parts.delete(partIndex)
    return part?.kind === 'tool-call' ? this.#writeRecord({ toolCalls: [part] }) : ''
  }

  #writeRecord(content: RecordContent): string {
    return formatLine({ ...encodeRecordHead(this.#context), ...this.#encodeContent(content), done: false })
  }
}

export function encodeReply(
  reply: Reply,
  context: ReplyContext,
  cost: UsageCost,
  encodeContent: ContentEncoder,
): JsonObject {
  const choice = reply.choices[0]
  const parts = choice?.parts ?? []
  const toolCalls = parts.filter((part) => part.kind === 'tool-call')
  const text = parts
    .flatMap((part) => (part.kind === 'text' || part.kind === 'refusal' ? [part.text] : []))
    .join('')
  const thinking = parts
    .flatMap((part) => (part.kind === 'reasoning' ? [part.text || part.summary.join('\n\n')] : []))
    .join('\n\n')
  const logprobs = parts.flatMap((part) => (part.kind === 'text' ? (part.logprobs ?? []) : []))
  const showsThinking = thinking !== '' && context.call.reasoning?.exclude !== true
  const content: RecordContent = {
    ...{ text, toolCalls },
    ...(showsThinking && { thinking }),
    ...(logprobs.length > 0 && { logprobs }),
  }
  const last = encodeFinalFields(context, choice?.end ?? null, {
    usage: reply.usage ?? zeroUsage,
    cost,
    firstContentMs: 0,
  })
  return { ...encodeRecordHead(context), ...encodeContent(content), ...last }
}

export const errorSchema = z
  .looseObject({
    error: z.string().describe('The error message'),
    code: z.int().describe('The HTTP status'),
    type: z.string().optional(),
    metadata: z.looseObject({ error_type: z.string(), reason: z.string() }).nullish(),
    user_id: z.string().nullish(),
  })
  .meta({ id: 'OllamaError' })

/** Clients display `error`, so it is the message; the other fields of the envelope are at the top level. */
export function encodeError(error: GatewayError, requestId: string): JsonObject {
  const { error: inner, ...rest } = toErrorEnvelope(error, requestId)
  const { message, ...details } = inner
  return { error: message, ...details, ...rest }
}
