import type { Call } from '../../call/call.ts'
import type { Choice, FinishReason, Reply, ReplyEvent } from '../../call/event.ts'
import type { OutputPart, TokenLogprob } from '../../call/part.ts'
import { type Bill, noTokens, type Usage } from '../../call/usage.ts'
import { badField, envelope, explainedError, type GatewayError } from '../../errors.ts'
import { type JsonObject, numberOf, textOf } from '../../lib/loose.ts'
import { chunkHead, event, heartbeat, lastChunks } from '../chat/chunk.ts'
import { errorObject, failureObject } from '../chat/error.ts'
import { brokenEnd } from '../chat/reply-whole.ts'
import { decodeReasoning, decodeSampling, gatewayFields } from '../chat/request-decode.ts'
import { writeUsage } from '../chat/usage.ts'
import { type ClientSide, explained, type ReplyFacts, type ReplyWriter } from '../dialect.ts'
import { replyLimits } from '../reply-losses.ts'

/** It has one text for each answer. */
const lacking = [
  ...(['audio', 'citations', 'explanation', 'image', 'reasoning_signature'] as const),
  ...(['stop_sequence', 'tool_calls'] as const),
]

/** The older text format: one prompt, one text. Only clients speak it. */
export const completions: ClientSide = {
  decodeRequest,
  writer: (about) => new CompletionWriter(about),
  encodeReply,
  insistsOnEffort: true,
  replyLimits: replyLimits(null, ...lacking),
  heartbeat,
  encodeError: (error, requestId) => ({ ...envelope(error, requestId) }),
}

const readFields: ReadonlySet<string> = new Set([
  ...['model', 'prompt', 'stream', 'stream_options', 'store', 'safety_identifier', 'echo', 'suffix'],
  ...['max_tokens', 'max_completion_tokens', 'temperature', 'top_p', 'top_k', 'min_p', 'top_a'],
  ...['frequency_penalty', 'presence_penalty', 'repetition_penalty', 'seed', 'stop', 'logit_bias'],
  ...['logprobs', 'top_logprobs', 'n', 'reasoning', 'reasoning_effort', 'include_reasoning', 'user'],
])

function decodeRequest(body: JsonObject): Call {
  const given = (name: string) => body[name] !== undefined && body[name] !== null
  // Either would change what the text of the answer is.
  if (body.echo === true) throw badField('echo', 'is not supported')
  if (given('suffix') && body.suffix !== '') throw badField('suffix', 'is not supported')
  const unknown = Object.keys(body).filter(
    (name) => given(name) && !readFields.has(name) && !gatewayFields.has(name),
  )
  const prompt: OutputPart = { kind: 'text', text: promptOf(body.prompt) }
  const call: Call = { messages: [{ role: 'user', parts: [prompt] }], stream: body.stream === true, unknown }
  decodeSampling(body, call)
  // Here it is a number: how many alternatives of each token to show.
  const alternatives = numberOf(body.logprobs)
  if (alternatives !== undefined) {
    call.logprobs = true
    if (alternatives > 0) call.topLogprobs = alternatives
  } else if (body.logprobs === true) call.logprobs = true
  const reasoning = decodeReasoning(body)
  if (reasoning) call.reasoning = reasoning
  const user = textOf(body.user)
  if (user !== undefined) call.user = user
  return call
}

function promptOf(prompt: unknown): string {
  if (typeof prompt === 'string') return prompt
  if (!Array.isArray(prompt)) throw badField('prompt', 'must be a string')
  if (prompt.length !== 1) throw badField('prompt', 'must be a single prompt')
  if (typeof prompt[0] !== 'string') throw badField('prompt', 'must be text: tokens are not supported')
  return prompt[0]
}

class CompletionWriter implements ReplyWriter {
  readonly final = null
  readonly #about: ReplyFacts
  readonly #head: JsonObject
  readonly #hidesReasoning: boolean
  readonly #kinds = new Map<string, OutputPart['kind']>()
  readonly #ends = new Map<number, { reason: FinishReason; native: string | null }>()
  readonly #lengths = new Map<number, number>()

  constructor(about: ReplyFacts) {
    this.#about = about
    this.#head = chunkHead(about, 'text_completion')
    this.#hidesReasoning = about.call.reasoning?.exclude === true
  }

  write(given: ReplyEvent): string {
    switch (given.type) {
      case 'part-start': {
        this.#kinds.set(`${given.choice} ${given.part}`, given.content.kind)
        if (!this.#lengths.has(given.choice)) this.#lengths.set(given.choice, 0)
        const { content } = given
        if (content.kind === 'text') return this.#text(given.choice, content.text, content.logprobs)
        if (content.kind === 'refusal') return this.#text(given.choice, content.text)
        return content.kind === 'reasoning' ? this.#thought(given.choice, content.text) : ''
      }
      case 'part-delta': {
        const kind = this.#kinds.get(`${given.choice} ${given.part}`)
        const { text, summary, logprobs } = given.delta
        if (kind === 'text' || kind === 'refusal') return this.#text(given.choice, text ?? '', logprobs)
        return kind === 'reasoning' ? this.#thought(given.choice, text ?? summary ?? '') : ''
      }
      case 'choice-end':
        this.#ends.set(given.choice, given)
        if (!this.#lengths.has(given.choice)) this.#lengths.set(given.choice, 0)
        return ''
      default:
        return ''
    }
  }

  end(usage: Usage, bill: Bill): string {
    const chunks: JsonObject[] = []
    for (const index of [...this.#lengths.keys()].sort((a, b) => a - b)) {
      const end = this.#ends.get(index)
      const ending = choiceOf(index, '', end?.reason ?? 'stop', end?.native ?? null)
      chunks.push({ ...this.#head, choices: [ending] })
    }
    const whole = { ...this.#head, usage: writeUsage(usage, bill), ...explained(this.#about) }
    return lastChunks(chunks, whole, this.#about)
  }

  fail(error: GatewayError): string {
    const choices = [choiceOf(0, '', 'error', null)]
    return event({ ...this.#head, choices, error: errorObject(error), ...explainedError(error) })
  }

  #text(index: number, text: string, logprobs?: TokenLogprob[]): string {
    if (text === '' && !logprobs) return ''
    const offset = this.#lengths.get(index) ?? 0
    this.#lengths.set(index, offset + text.length)
    return this.#chunk({
      ...choiceOf(index, text, null, null),
      logprobs: logprobs ? encodeLogprobs(logprobs, offset) : null,
    })
  }

  #thought(index: number, text: string): string {
    if (text === '' || this.#hidesReasoning) return ''
    return this.#chunk({ ...choiceOf(index, '', null, null), reasoning: text })
  }

  #chunk(choice: JsonObject): string {
    return event({ ...this.#head, choices: [choice] })
  }
}

function choiceOf(index: number, text: string, reason: string | null, native: string | null): JsonObject {
  return { index, text, finish_reason: reason, native_finish_reason: native, logprobs: null }
}

function encodeReply(reply: Reply, about: ReplyFacts, bill: Bill): JsonObject {
  const choices = reply.choices.length > 0 ? reply.choices : [{ index: 0, parts: [], end: null }]
  return {
    ...chunkHead(about, 'text_completion'),
    system_fingerprint: reply.start.fingerprint ?? null,
    choices: choices.map((choice) => encodeChoice(choice, reply, about)),
    usage: writeUsage(reply.usage ?? noTokens, bill),
    ...explained(about),
  }
}

function encodeChoice(choice: Choice, reply: Reply, about: ReplyFacts): JsonObject {
  const failure = reply.failure ?? brokenEnd(choice, reply)
  const said = choice.parts.filter((part) => part.kind === 'text' || part.kind === 'refusal')
  const logprobs = choice.parts.flatMap((part) => (part.kind === 'text' ? (part.logprobs ?? []) : []))
  const thoughts = choice.parts.filter((part) => part.kind === 'reasoning')
  const thought = thoughts.map((part) => part.text || part.summary.join('\n\n')).join('\n\n')
  const text = said.map((part) => part.text).join('')
  const reason = failure ? 'error' : (choice.end?.reason ?? 'stop')
  return {
    ...choiceOf(choice.index, text, reason, choice.end?.native ?? null),
    logprobs: logprobs.length > 0 ? encodeLogprobs(logprobs, 0) : null,
    ...(thought !== '' && about.call.reasoning?.exclude !== true && { reasoning: thought }),
    ...(failure && { error: failureObject(failure) }),
  }
}

/** Four lists side by side, one entry a token. */
function encodeLogprobs(logprobs: TokenLogprob[], offset: number): JsonObject {
  let place = offset
  const places = logprobs.map(({ token }) => {
    const start = place
    place += token.length
    return start
  })
  return {
    tokens: logprobs.map(({ token }) => token),
    token_logprobs: logprobs.map(({ logprob }) => logprob),
    top_logprobs: logprobs.map(({ top }) =>
      Object.fromEntries(top.map(({ token, logprob }) => [token, logprob])),
    ),
    text_offset: places,
  }
}
