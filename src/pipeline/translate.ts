import type { Call } from '../call/call.ts'
import type { ReplyEvent } from '../call/event.ts'
import type { ReasoningFormat } from '../call/part.ts'
import type { Endpoint, Model } from '../catalog/model.ts'
import { commonAbilities, commonHistory, type Provider } from '../catalog/provider.ts'
import { isGenerateDialect, type WireAbility } from '../catalog/vocabulary.ts'
import { dialects } from '../dialects/all.ts'
import type {
  Dialect,
  Relay,
  ReplyFacts,
  ReplyReader,
  ReplyWriter,
  Seen,
  Target,
  UpstreamRequest,
} from '../dialects/dialect.ts'
import { nothingSeen } from '../dialects/dialect.ts'
import { unservedFields } from '../dialects/fields.ts'
import { addReplyLosses, type ReplyLimits } from '../dialects/reply-losses.ts'
import { wishAt } from '../dialects/thinking.ts'
import { fail } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import type { SseFrame } from '../lib/sse.ts'
import type { Candidate } from '../routing/candidate.ts'
import { type Access, accessOf } from './access.ts'
import type { Asked } from './asked.ts'
import { noteCall } from './tool-calls.ts'

/** A request in the words of one upstream. */
export interface Translation {
  dialect: Dialect
  request: UpstreamRequest
  /** Client and upstream speak alike: the reply passes as it is. */
  passes: boolean
  access: Access
}

/** Opens the credential of the candidate: the request is about to go out. */
export function translate(gateway: Gateway, asked: Asked, candidate: Candidate): Translation {
  const access = accessOf(gateway, candidate, asked.region)
  return { ...wordsFor(asked, candidate.model, access.endpoint), access }
}

type Words = Omit<Translation, 'access'>

/** What an endpoint would be told; a loss is an error where the client wants none. */
export function wordsFor(asked: Asked, model: Model, endpoint: Endpoint): Words {
  const words = passedOrEncoded(asked, model, endpoint)
  const passed = withoutDropped(words, endpoint)
  const unserved = unservedFields(asked.body, passed.body)
  const dropped = [...new Set([...passed.dropped, ...unserved])].sort()
  if (asked.wishes.strict && dropped.length > 0)
    throw fail('loss_refused', `Strict: the provider cannot be given ${dropped.join(', ')}.`, { dropped })
  return { ...words, request: { ...passed, dropped } }
}

/** Fields that pass as they are in the format, and that this provider would refuse. */
function withoutDropped({ dialect, request }: Words, { provider }: Endpoint): UpstreamRequest {
  const present = provider.wire?.[dialect.name]?.drops?.filter((name) => request.body[name] !== undefined)
  if (!present?.length) return request
  const body = Object.fromEntries(Object.entries(request.body).filter(([name]) => !present.includes(name)))
  return { ...request, body, dropped: [...request.dropped, ...present].sort() }
}

function passedOrEncoded(asked: Asked, model: Model, endpoint: Endpoint): Words {
  const { dialect } = asked.format
  if (dialect && endpoint.dialects.includes(dialect.name)) {
    const request = dialect.same.passRequest(asked.body, targetOf(asked, model, endpoint, dialect))
    return { dialect, request, passes: true }
  }
  return fewestLosses(asked, model, endpoint)
}

/** Of the dialects an endpoint speaks, the one that can say most of the request; the first of equals. */
function fewestLosses(asked: Asked, model: Model, endpoint: Endpoint): Words {
  const translations = endpoint.dialects.filter(isGenerateDialect).map((name) => {
    const dialect = dialects[name]
    const target = targetOf(asked, model, endpoint, dialect)
    const request = dialect.upstream.encodeRequest(thoughtful(asked.call, target), target)
    return { dialect, request, passes: false }
  })
  return translations.reduce((best, next) =>
    next.request.dropped.length < best.request.dropped.length ? next : best,
  )
}

function thoughtful(call: Call, target: Target): Call {
  const wish = wishAt(call.reasoning, target)
  if (wish === call.reasoning) return call
  const { reasoning: _said, ...rest } = call
  return wish ? { ...rest, reasoning: wish } : rest
}

function targetOf({ call }: Asked, model: Model, endpoint: Endpoint, dialect: Dialect): Target {
  const { provider } = endpoint
  const { reasoning } = model
  return {
    model: endpoint.upstream_model,
    stream: call.stream,
    maxOutput: endpoint.max_completion_tokens,
    reasoning: reasoning
      ? { efforts: reasoning.supported_efforts ?? null, budget: reasoning.supports_max_tokens === true }
      : null,
    signatures: provider.signatures ?? dialect.upstream.customs.signatures,
    history: provider.reasoningHistory ?? commonHistory,
    unsupported: endpoint.refused_parameters,
    abilities: abilitiesOf(provider),
    thinking: reasoning?.mandatory ? 'always' : model.thinks ? 'default' : null,
    tier: endpoint.service_tier,
  }
}

const abilitySets = new WeakMap<object, ReadonlySet<WireAbility>>()

/** The catalogue never changes: what follows from a provider is worked out once. */
function abilitiesOf(provider: Provider): ReadonlySet<WireAbility> {
  const known = abilitySets.get(provider)
  if (known) return known
  const abilities = new Set(provider.abilities ?? commonAbilities)
  abilitySets.set(provider, abilities)
  return abilities
}

/** From the upstream's frames to the client's text, through our own events. */
class TranslatedRelay implements Relay {
  readonly #reader: ReplyReader
  readonly #writer: ReplyWriter
  readonly #signatures: ReasoningFormat | undefined
  readonly #limits: ReplyLimits
  readonly seen: Seen = nothingSeen()

  constructor(
    reader: ReplyReader,
    writer: ReplyWriter,
    limits: ReplyLimits,
    signatures: ReasoningFormat | undefined,
  ) {
    this.#reader = reader
    this.#writer = writer
    this.#limits = limits
    this.#signatures = signatures
  }

  pass(frame: SseFrame): string {
    return this.#write(this.#reader.read(frame))
  }
  /** The upstream's stream is over. */
  close(): string {
    return this.#write(this.#reader.end())
  }
  end: Relay['end'] = (usage, bill) => this.#writer.end(usage, bill)
  fail: Relay['fail'] = (error) => this.#writer.fail(error)
  get final() {
    return this.#writer.final
  }

  #write(events: ReplyEvent[]): string {
    let text = ''
    for (const event of events) {
      signBy(this.#signatures, event)
      note(this.seen, event, this.#limits)
      text += this.#writer.write(event)
    }
    return text
  }
}

/** Vendors who share a format do not read each other's signatures: the part is marked as its own vendor's. */
export function signBy(signatures: ReasoningFormat | undefined, event: ReplyEvent): void {
  if (!signatures || event.type !== 'part-start' || event.content.kind !== 'reasoning') return
  if (event.content.format !== 'unknown') event.content.format = signatures
}

/** What the gateway must know of a reply, from its events; `limits` are those of the format it is written in anew. */
export function note(seen: Seen, event: ReplyEvent, limits: ReplyLimits | null): void {
  if (limits) addReplyLosses(seen.lost, event, limits)
  switch (event.type) {
    case 'reply-start':
      seen.model = event.model ?? seen.model
      seen.tier = event.serviceTier ?? seen.tier
      break
    case 'part-start':
      seen.parts++
      if (startsContent(event.content)) advance(seen)
      noteCall(seen, event)
      break
    case 'part-delta':
      if (!isEmpty(event.delta)) advance(seen)
      seen.characters += lengthOf(event.delta)
      noteCall(seen, event)
      break
    case 'choice-end':
      seen.finishes[event.choice] = { reason: event.reason, native: event.native }
      break
    case 'usage':
      seen.usage = event.usage
      break
    case 'reply-end':
      seen.complete = true
      break
    case 'reply-error':
      seen.failure ??= event.failure
      break
    case 'part-end':
      break
  }
}

function advance(seen: Seen): void {
  seen.content = true
  seen.progress++
}

type Started = Extract<ReplyEvent, { type: 'part-start' }>['content']
type Delta = Extract<ReplyEvent, { type: 'part-delta' }>['delta']

/** An empty text part is only an announcement. */
function startsContent(part: Started): boolean {
  return (part.kind !== 'text' && part.kind !== 'refusal') || part.text !== ''
}

function lengthOf({ text, arguments: args, summary, transcript }: Delta): number {
  return (text?.length ?? 0) + (args?.length ?? 0) + (summary?.length ?? 0) + (transcript?.length ?? 0)
}

function isEmpty(delta: Delta): boolean {
  const { signature, encrypted, data, citation, logprobs } = delta
  return lengthOf(delta) === 0 && !signature && !encrypted && !data && !citation && !logprobs?.length
}

export function relayFor(
  asked: Asked,
  { endpoint }: Candidate,
  { dialect, passes }: Translation,
  facts: ReplyFacts,
): Relay {
  if (passes) return dialect.same.relay(facts)
  const { writes } = asked.format
  const reader = dialect.upstream.reader()
  return new TranslatedRelay(reader, writes.writer(facts), writes.replyLimits, endpoint.provider.signatures)
}
