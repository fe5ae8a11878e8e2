import type { Bill, Usage } from '../../call/usage.ts'
import type { GatewayError } from '../../errors.ts'
import { type JsonObject, numberOf, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import type { SseFrame } from '../../lib/sse.ts'
import { explained, nothingSeen, type Relay, type ReplyFacts } from '../dialect.ts'
import { servedTier } from '../tier.ts'
import { chunkHead, event, failedChunk, lastChunks } from './chunk.ts'
import { failureOf, malformed } from './error.ts'
import {
  type Manner,
  newRelayedChoice,
  normaliseChoice,
  owedArguments,
  type RelayedChoice,
  saidLength,
} from './normalise.ts'
import { tierField } from './pass-reply.ts'
import { annotationsFor, choiceError, errorIn, mostChoices, parsed } from './reply-read.ts'
import { learnSplice, type Splice, splice } from './splice.ts'
import { mergeUsage, readUsage, usageObjectOf } from './usage.ts'

export function relay(about: ReplyFacts): Relay {
  return new ChatRelay(about)
}

/** Most chunks get a new beginning and nothing else; those that may say more than a piece of text are read. */
class ChatRelay implements Relay {
  readonly seen = nothingSeen()
  readonly final = null
  readonly #about: ReplyFacts
  readonly #head: JsonObject
  readonly #manner: Manner
  readonly #choices = new Map<number, RelayedChoice>()
  /** With several choices every chunk is read: which ones are finished must be known. */
  readonly #single: boolean
  #splice: Splice | null = null
  #usage: JsonObject | undefined
  /** What the last chunk had beside choices and usage. */
  #extras: JsonObject = {}
  #annotations: JsonObject[] = []
  /** How choices finished: not shown before the reply is charged, for it might still break off. */
  readonly #held: JsonObject[] = []
  #marked = false

  constructor(about: ReplyFacts) {
    this.#about = about
    this.#head = { ...chunkHead(about), ...tierField({}, about) }
    const hidesReasoning = about.call.reasoning?.exclude === true
    this.#manner = { hidesReasoning, replyId: about.id, streams: true, formatNames: about.formatNames }
    this.#single = (about.call.n ?? 1) === 1
  }

  pass(frame: SseFrame): string {
    const { data } = frame
    if (this.#marked || this.seen.failure) return ''
    if (this.#splice && frame.event !== 'error' && !this.seen.complete) {
      const spliced = splice(this.#splice, data)
      if (spliced !== null) {
        this.#noteUnread(data, this.#splice)
        const length = data.length - this.#splice.overhead
        if (length > 0) {
          this.seen.characters += length
          this.seen.progress++
        }
        return spliced
      }
    }
    return this.#read(data.trim(), frame.event === 'error')
  }

  end(usage: Usage, bill: Bill): string {
    const chunks = [...this.#held]
    for (const [index, choice] of this.#choices) {
      if (choice.finish) continue
      const reason = choice.calls.size > 0 ? 'tool_calls' : 'stop'
      const delta = withOwed({}, choice)
      const ending = { index, delta, finish_reason: reason, native_finish_reason: null, logprobs: null }
      chunks.push({ ...this.#head, choices: [ending] })
    }
    const counted = mergeUsage(this.#usage, usage, bill)
    const whole = { ...this.#extras, ...this.#head, usage: counted, ...explained(this.#about) }
    return lastChunks(chunks, whole, this.#about)
  }

  /** What was said in the chunks kept back counts, how they finished does not. */
  fail(error: GatewayError): string {
    const said = this.#held.map((chunk) => ({ ...chunk, choices: objectsOf(chunk.choices).map(unfinished) }))
    const shown = said.filter(({ choices }) =>
      choices.some((choice) => saidLength(objectOf(choice.delta) ?? {}) > 0),
    )
    return shown.map(event).join('') + failedChunk(this.#head, error)
  }

  /** Pieces of calls that pass unread are arguments of the call with their number. */
  #noteUnread(data: string, { calls }: Splice): void {
    const at = data.indexOf(calls.numbered)
    if (at === -1) return
    const number = Number.parseInt(data.slice(at + calls.numbered.length), 10)
    for (const choice of this.#choices.values()) {
      const call = choice.calls.all[number]
      if (call) call.hasArguments = true
    }
  }

  #read(data: string, isError: boolean): string {
    if (data === '') return ''
    if (data === '[DONE]') return this.#mark()
    const chunk = parsed(data)
    if (!chunk) {
      // After the last word of every choice only the counts can be missing.
      if (this.seen.complete) return ''
      this.seen.failure = malformed('The upstream sent an event that is not a JSON object.')
      return ''
    }
    const inside = objectsOf(chunk.choices)
      .map(choiceError)
      .find((told) => told !== undefined)
    const error = errorIn(chunk, isError) ?? inside
    this.#note(chunk)
    if (error !== undefined) {
      this.seen.failure = failureOf(error, null)
      return ''
    }
    return Array.isArray(chunk.choices) ? this.#write(chunk, data) : ''
  }

  #mark(): string {
    this.#marked = true
    if (this.#choices.size === 0) this.seen.failure = malformed('The upstream sent an empty reply.')
    else this.seen.complete = true
    return ''
  }

  #note(chunk: JsonObject): void {
    this.seen.model ??= textOf(chunk.model) ?? null
    this.seen.tier = servedTier(chunk.service_tier) ?? this.seen.tier
    Object.assign(this.#head, tierField(chunk, this.#about))
    const usage = usageObjectOf(chunk)
    if (usage) {
      this.#usage = usage
      this.seen.usage = readUsage(usage)
    }
    const annotations = annotationsFor(chunk)
    if (annotations.length > 0) this.#annotations = annotations
  }

  #write(chunk: JsonObject, data: string): string {
    const { usage, choices: _given, ...rest } = chunk
    const given = objectsOf(chunk.choices)
    // The chunk of the usage waits for the bill.
    if (given.length === 0 && objectOf(usage)) {
      this.#extras = rest
      return ''
    }
    const choices = given.map((choice) => this.#choice(choice)).filter((choice) => choice !== null)
    this.#judge()
    const written = { ...rest, ...this.#head, choices }
    if (this.seen.complete || choices.some((choice) => choice.finish_reason !== null)) {
      this.#held.push(written)
      return ''
    }
    if (this.#single && this.seen.content) {
      const { hidesReasoning, formatNames } = this.#manner
      const readsReasoning = hidesReasoning || formatNames === 'neutral'
      this.#splice = learnSplice(chunk, data, this.#head, readsReasoning, this.#numbersHold())
    }
    return event(written)
  }

  #choice(given: JsonObject): JsonObject | null {
    const index = numberOf(given.index) ?? 0
    let state = this.#choices.get(index)
    if (!state) {
      if (this.#choices.size >= mostChoices) return null
      state = newRelayedChoice()
      this.#choices.set(index, state)
    }
    const said = objectOf(given.delta) ?? objectOf(given.message)
    const length = said ? saidLength(said) : 0
    this.seen.characters += length
    if (length > 0) {
      this.seen.content = true
      this.seen.progress++
    }
    const calls = state.calls.size
    const choice = normaliseChoice({ ...given, index }, state, this.#manner)
    if (state.finish && choice.delta) choice.delta = withOwed(objectOf(choice.delta) ?? {}, state)
    this.seen.parts += state.calls.size - calls
    const delta = objectOf(choice.delta)
    if (state.finish && index === 0 && this.#annotations.length > 0 && delta && !delta.annotations) {
      choice.delta = { ...delta, annotations: this.#annotations }
      this.#annotations = []
    }
    return choice
  }

  /** Nothing more comes: an upstream that gave fewer choices than were asked for has given all it has. */
  close(): string {
    if (!this.seen.complete) this.#judge(1)
    return ''
  }

  #judge(expected = this.#about.call.n ?? 1): void {
    const finishes = [...this.#choices.entries()].sort(([a], [b]) => a - b).map(([, { finish }]) => finish)
    this.seen.finishes = finishes.filter((finish) => finish !== null)
    this.seen.complete = finishes.length >= expected && this.seen.finishes.length === finishes.length
  }

  #numbersHold(): boolean {
    return [...this.#choices.values()].every((choice) => !choice.renumbered)
  }
}

function withOwed(delta: JsonObject, state: RelayedChoice): JsonObject {
  const owed = owedArguments(state)
  return owed.length > 0 ? { ...delta, tool_calls: [...objectsOf(delta.tool_calls), ...owed] } : delta
}

function unfinished(choice: JsonObject): JsonObject {
  return { ...choice, finish_reason: null, native_finish_reason: null }
}
