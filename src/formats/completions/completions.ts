import {
  type GatewayError,
  invalidFieldError,
  toErrorEnvelope,
  toServiceMetadata,
} from '../../platform/errors/gateway-error.ts'
import { asNumber, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { ModelCall } from '../call/call.ts'
import type { Choice, FinishReason, Reply, ReplyEvent } from '../call/event.ts'
import type { OutputPart, TokenLogprob } from '../call/part.ts'
import { type Usage, type UsageCost, zeroUsage } from '../call/usage.ts'
import { buildChunkHead, formatChunk, formatLastChunks, heartbeat } from '../chat/chunk.ts'
import { encodeFailure, encodeStreamError } from '../chat/error.ts'
import { brokenChoiceFailure } from '../chat/reply-encode.ts'
import { decodeReasoning, decodeSampling, gatewayFields } from '../chat/request-decode.ts'
import { encodeUsage } from '../chat/usage.ts'
import { createReplyLimits } from '../reply-losses.ts'
import {
  type ClientCodec,
  encodeServiceMetadata,
  type ReplyContext,
  type ReplyWriter,
} from '../wire-format.ts'

/** A choice is a single text. */
const unsupportedFeatures = [
  ...(['audio', 'citations', 'explanation', 'image', 'reasoning_signature'] as const),
  ...(['stop_sequence', 'tool_calls'] as const),
]

/** The legacy completions format: one prompt, one text. Client side only. */
export const completions: ClientCodec = {
  decodeRequest,
  createWriter: (context) => new CompletionWriter(context),
  encodeReply,
  rejectsMandatoryReasoning: true,
  replyLimits: createReplyLimits(null, ...unsupportedFeatures),
  heartbeat,
  encodeError: (error, requestId) => ({ ...toErrorEnvelope(error, requestId) }),
}

const knownFields: ReadonlySet<string> = new Set([
  ...['model', 'prompt', 'stream', 'stream_options', 'store', 'safety_identifier', 'echo', 'suffix'],
  ...['max_tokens', 'max_completion_tokens', 'temperature', 'top_p', 'top_k', 'min_p', 'top_a'],
  ...['frequency_penalty', 'presence_penalty', 'repetition_penalty', 'seed', 'stop', 'logit_bias'],
  ...['logprobs', 'top_logprobs', 'n', 'reasoning', 'reasoning_effort', 'include_reasoning', 'user'],
])

function decodeRequest(body: JsonObject): ModelCall {
  const isPresent = (name: string) => body[name] !== undefined && body[name] !== null
  // Both change what the text of a choice contains, so they cannot be ignored.
  if (body.echo === true) throw invalidFieldError('echo', 'is not supported')
  if (isPresent('suffix') && body.suffix !== '') throw invalidFieldError('suffix', 'is not supported')
  const unknown = Object.keys(body).filter(
    (name) => isPresent(name) && !knownFields.has(name) && !gatewayFields.has(name),
  )
  const prompt: OutputPart = { kind: 'text', text: decodePrompt(body.prompt) }
  const call: ModelCall = {
    messages: [{ role: 'user', parts: [prompt] }],
    stream: body.stream === true,
    unknown,
  }
  decodeSampling(body, call)
  // A number in this format: how many alternatives to return for each token.
  const alternatives = asNumber(body.logprobs)
  if (alternatives !== undefined) {
    call.logprobs = true
    if (alternatives > 0) call.topLogprobs = alternatives
  } else if (body.logprobs === true) call.logprobs = true
  const reasoning = decodeReasoning(body)
  if (reasoning) call.reasoning = reasoning
  const user = asString(body.user)
  if (user !== undefined) call.user = user
  return call
}

function decodePrompt(prompt: unknown): string {
  if (typeof prompt === 'string') return prompt
  if (!Array.isArray(prompt)) throw invalidFieldError('prompt', 'must be a string')
  if (prompt.length !== 1) throw invalidFieldError('prompt', 'must be a single prompt')
  if (typeof prompt[0] !== 'string')
    throw invalidFieldError('prompt', 'must be text: tokens are not supported')
  return prompt[0]
}

class CompletionWriter implements ReplyWriter {
  readonly finalBody = null
  readonly #context: ReplyContext
  readonly #head: JsonObject
  readonly #hidesReasoning: boolean
  readonly #partKinds = new Map<string, OutputPart['kind']>()
  readonly #choiceEnds = new Map<number, { reason: FinishReason; native: string | null }>()
  readonly #textLengths = new Map<number, number>()

  constructor(context: ReplyContext) {
    this.#context = context
    this.#head = buildChunkHead(context, 'text_completion')
    this.#hidesReasoning = context.call.reasoning?.exclude === true
  }

  write(event: ReplyEvent): string {
    switch (event.type) {
      case 'part-start': {
        this.#partKinds.set(`${event.choice} ${event.part}`, event.content.kind)
        if (!this.#textLengths.has(event.choice)) this.#textLengths.set(event.choice, 0)
        const { content } = event
        if (content.kind === 'text') return this.#writeText(event.choice, content.text, content.logprobs)
        if (content.kind === 'refusal') return this.#writeText(event.choice, content.text)
        return content.kind === 'reasoning' ? this.#writeReasoning(event.choice, content.text) : ''
      }
      case 'part-delta': {
        const kind = this.#partKinds.get(`${event.choice} ${event.part}`)
        const { text, summary, logprobs } = event.delta
        if (kind === 'text' || kind === 'refusal') return this.#writeText(event.choice, text ?? '', logprobs)
        return kind === 'reasoning' ? this.#writeReasoning(event.choice, text ?? summary ?? '') : ''
      }
      case 'choice-end':
        this.#choiceEnds.set(event.choice, event)
        if (!this.#textLengths.has(event.choice)) this.#textLengths.set(event.choice, 0)
        return ''
      default:
        return ''
    }
  }

  end(usage: Usage, cost: UsageCost): string {
    const chunks: JsonObject[] = []
    for (const index of [...this.#textLengths.keys()].sort((a, b) => a - b)) {
      const end = this.#choiceEnds.get(index)
      const ending = buildChoice(index, '', end?.reason ?? 'stop', end?.native ?? null)
      chunks.push({ ...this.#head, choices: [ending] })
    }
    const finalFields = {
      ...this.#head,
      usage: encodeUsage(usage, cost),
      ...encodeServiceMetadata(this.#context),
    }
    return formatLastChunks(chunks, finalFields, this.#context)
  }

  fail(error: GatewayError): string {
    const choices = [buildChoice(0, '', 'error', null)]
    return formatChunk({
      ...this.#head,
      choices,
      error: encodeStreamError(error),
      ...toServiceMetadata(error),
    })
  }

  #writeText(index: number, text: string, logprobs?: TokenLogprob[]): string {
    if (text === '' && !logprobs) return ''
    const offset = this.#textLengths.get(index) ?? 0
    this.#textLengths.set(index, offset + text.length)
    return this.#formatChunk({
      ...buildChoice(index, text, null, null),
      logprobs: logprobs ? encodeLogprobs(logprobs, offset) : null,
    })
  }

  #writeReasoning(index: number, text: string): string {
    if (text === '' || this.#hidesReasoning) return ''
    return this.#formatChunk({ ...buildChoice(index, '', null, null), reasoning: text })
  }

  #formatChunk(choice: JsonObject): string {
    return formatChunk({ ...this.#head, choices: [choice] })
  }
}

function buildChoice(index: number, text: string, reason: string | null, native: string | null): JsonObject {
  return { index, text, finish_reason: reason, native_finish_reason: native, logprobs: null }
}

function encodeReply(reply: Reply, context: ReplyContext, cost: UsageCost): JsonObject {
  const choices = reply.choices.length > 0 ? reply.choices : [{ index: 0, parts: [], end: null }]
  return {
    ...buildChunkHead(context, 'text_completion'),
    system_fingerprint: reply.start.fingerprint ?? null,
    choices: choices.map((choice) => encodeChoice(choice, reply, context)),
    usage: encodeUsage(reply.usage ?? zeroUsage, cost),
    ...encodeServiceMetadata(context),
  }
}

function encodeChoice(choice: Choice, reply: Reply, context: ReplyContext): JsonObject {
  const failure = reply.failure ?? brokenChoiceFailure(choice, reply)
  const textParts = choice.parts.filter((part) => part.kind === 'text' || part.kind === 'refusal')
  const logprobs = choice.parts.flatMap((part) => (part.kind === 'text' ? (part.logprobs ?? []) : []))
  const reasoningParts = choice.parts.filter((part) => part.kind === 'reasoning')
  const reasoning = reasoningParts.map((part) => part.text || part.summary.join('\n\n')).join('\n\n')
  const text = textParts.map((part) => part.text).join('')
  const reason = failure ? 'error' : (choice.end?.reason ?? 'stop')
  return {
    ...buildChoice(choice.index, text, reason, choice.end?.native ?? null),
    logprobs: logprobs.length > 0 ? encodeLogprobs(logprobs, 0) : null,
    ...(reasoning !== '' && context.call.reasoning?.exclude !== true && { reasoning }),
    ...(failure && { error: encodeFailure(failure) }),
  }
}

/** Four parallel arrays with one entry per token. */
function encodeLogprobs(logprobs: TokenLogprob[], offset: number): JsonObject {
  let position = offset
  const offsets = logprobs.map(({ token }) => {
    const start = position
    position += token.length
    return start
  })
  return {
    tokens: logprobs.map(({ token }) => token),
    token_logprobs: logprobs.map(({ logprob }) => logprob),
    top_logprobs: logprobs.map(({ top }) =>
      Object.fromEntries(top.map(({ token, logprob }) => [token, logprob])),
    ),
    text_offset: offsets,
  }
}
