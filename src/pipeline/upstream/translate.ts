import type { Gateway } from '../../app/gateway.ts'
import type { ModelCall } from '../../call/call.ts'
import type { ReplyEvent } from '../../call/event.ts'
import type { ReasoningFormat } from '../../call/part.ts'
import type { Endpoint, Model } from '../../catalogue/model.ts'
import { commonCapabilities, commonReasoningHistory, type Provider } from '../../catalogue/provider.ts'
import { isGenerateDialect, type WireCapability } from '../../catalogue/vocabulary.ts'
import { dialects } from '../../dialects/all.ts'
import type {
  Dialect,
  Relay,
  ReplyContext,
  ReplyReader,
  ReplySummary,
  ReplyWriter,
  Target,
  UpstreamRequest,
} from '../../dialects/dialect.ts'
import { newReplySummary } from '../../dialects/dialect.ts'
import { listUnimplementedFields } from '../../dialects/fields.ts'
import { resolveReasoning } from '../../dialects/reasoning-options.ts'
import { addReplyLosses, type ReplyLimits } from '../../dialects/reply-losses.ts'
import { gatewayError } from '../../errors/gateway-error.ts'
import type { SseFrame } from '../../lib/sse.ts'
import type { Candidate } from '../../routing/candidate.ts'
import { recordToolCall } from '../reply/tool-calls.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import { resolveAccess, type UpstreamAccess } from './access.ts'

/** A request in the words of one upstream. */
export interface Translation {
  dialect: Dialect
  upstreamRequest: UpstreamRequest
  /** Client and upstream speak alike: the reply passes as it is. */
  isPassThrough: boolean
  access: UpstreamAccess
}

/** Opens the credential of the candidate: the request is about to go out. */
export function translate(gateway: Gateway, request: InferenceRequest, candidate: Candidate): Translation {
  const access = resolveAccess(gateway, candidate, request.region)
  return { ...encodeFor(request, candidate.model, access.endpoint), access }
}

type EncodedRequest = Omit<Translation, 'access'>

/** What an endpoint would be told; a loss is an error where the client wants none. */
export function encodeFor(request: InferenceRequest, model: Model, endpoint: Endpoint): EncodedRequest {
  const words = passOrEncode(request, model, endpoint)
  const passed = dropUnsupported(words, endpoint)
  const unserved = listUnimplementedFields(request.body, passed.body)
  const dropped = [...new Set([...passed.dropped, ...unserved])].sort()
  if (request.options.strict && dropped.length > 0)
    throw gatewayError('loss_refused', `Strict: the provider cannot be given ${dropped.join(', ')}.`, {
      dropped,
    })
  return { ...words, upstreamRequest: { ...passed, dropped } }
}

/** Fields that pass as they are in the format, and that this provider would refuse. */
function dropUnsupported(
  { dialect, upstreamRequest }: EncodedRequest,
  { provider }: Endpoint,
): UpstreamRequest {
  const present = provider.wire?.[dialect.name]?.droppedFields?.filter(
    (name) => upstreamRequest.body[name] !== undefined,
  )
  if (!present?.length) return upstreamRequest
  const body = Object.fromEntries(
    Object.entries(upstreamRequest.body).filter(([name]) => !present.includes(name)),
  )
  return { ...upstreamRequest, body, dropped: [...upstreamRequest.dropped, ...present].sort() }
}

function passOrEncode(request: InferenceRequest, model: Model, endpoint: Endpoint): EncodedRequest {
  const { dialect } = request.format
  if (dialect && endpoint.dialects.includes(dialect.name)) {
    const upstreamRequest = dialect.passthrough.passRequest(
      request.body,
      buildTarget(request, model, endpoint, dialect),
    )
    return { dialect, upstreamRequest, isPassThrough: true }
  }
  return encodeWithFewestLosses(request, model, endpoint)
}

/** Of the dialects an endpoint speaks, the one that can say most of the request; the first of equals. */
function encodeWithFewestLosses(request: InferenceRequest, model: Model, endpoint: Endpoint): EncodedRequest {
  const translations = endpoint.dialects.filter(isGenerateDialect).map((name) => {
    const dialect = dialects[name]
    const target = buildTarget(request, model, endpoint, dialect)
    const upstreamRequest = dialect.upstream.encodeRequest(applyReasoning(request.call, target), target)
    return { dialect, upstreamRequest, isPassThrough: false }
  })
  return translations.reduce((best, next) =>
    next.upstreamRequest.dropped.length < best.upstreamRequest.dropped.length ? next : best,
  )
}

function applyReasoning(call: ModelCall, target: Target): ModelCall {
  const wish = resolveReasoning(call.reasoning, target)
  if (wish === call.reasoning) return call
  const { reasoning: _said, ...rest } = call
  return wish ? { ...rest, reasoning: wish } : rest
}

function buildTarget({ call }: InferenceRequest, model: Model, endpoint: Endpoint, dialect: Dialect): Target {
  const { provider } = endpoint
  const { reasoning } = model
  return {
    model: endpoint.upstream_model,
    stream: call.stream,
    maxOutputTokens: endpoint.max_completion_tokens,
    reasoning: reasoning
      ? { efforts: reasoning.supported_efforts ?? null, budget: reasoning.supports_max_tokens === true }
      : null,
    signatureFormat: provider.signatures ?? dialect.upstream.defaults.signatureFormat,
    reasoningHistory: provider.reasoningHistory ?? commonReasoningHistory,
    unsupportedFields: endpoint.unsupported_parameters,
    capabilities: capabilitiesOf(provider),
    reasoningMode: reasoning?.mandatory ? 'always' : model.reasons_by_default ? 'default' : null,
    tier: endpoint.service_tier,
  }
}

const capabilitySets = new WeakMap<object, ReadonlySet<WireCapability>>()

/** The catalogue never changes: what follows from a provider is worked out once. */
function capabilitiesOf(provider: Provider): ReadonlySet<WireCapability> {
  const known = capabilitySets.get(provider)
  if (known) return known
  const abilities = new Set(provider.capabilities ?? commonCapabilities)
  capabilitySets.set(provider, abilities)
  return abilities
}

/** From the upstream's frames to the client's text, through our own events. */
class TranslatedRelay implements Relay {
  readonly #reader: ReplyReader
  readonly #writer: ReplyWriter
  readonly #signatures: ReasoningFormat | undefined
  readonly #limits: ReplyLimits
  readonly summary: ReplySummary = newReplySummary()

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
  get finalBody() {
    return this.#writer.finalBody
  }

  #write(events: ReplyEvent[]): string {
    let text = ''
    for (const event of events) {
      markSignature(this.#signatures, event)
      recordEvent(this.summary, event, this.#limits)
      text += this.#writer.write(event)
    }
    return text
  }
}

/** Vendors who share a format do not read each other's signatures: the part is marked as its own vendor's. */
export function markSignature(signatures: ReasoningFormat | undefined, event: ReplyEvent): void {
  if (!signatures || event.type !== 'part-start' || event.content.kind !== 'reasoning') return
  if (event.content.format !== 'unknown') event.content.format = signatures
}

/** What the gateway must know of a reply, from its events; `limits` are those of the format it is written in anew. */
export function recordEvent(summary: ReplySummary, event: ReplyEvent, limits: ReplyLimits | null): void {
  if (limits) addReplyLosses(summary.losses, event, limits)
  switch (event.type) {
    case 'reply-start':
      summary.model = event.model ?? summary.model
      summary.tier = event.serviceTier ?? summary.tier
      break
    case 'part-start':
      summary.partCount++
      if (hasContent(event.content)) recordProgress(summary)
      recordToolCall(summary, event)
      break
    case 'part-delta':
      if (!isEmptyDelta(event.delta)) recordProgress(summary)
      summary.characters += lengthOf(event.delta)
      recordToolCall(summary, event)
      break
    case 'choice-end':
      summary.finishReasons[event.choice] = { reason: event.reason, native: event.native }
      break
    case 'usage':
      summary.usage = event.usage
      break
    case 'reply-end':
      summary.isComplete = true
      break
    case 'reply-error':
      summary.failure ??= event.failure
      break
    case 'part-end':
      break
  }
}

function recordProgress(summary: ReplySummary): void {
  summary.hasContent = true
  summary.contentEvents++
}

type StartedPart = Extract<ReplyEvent, { type: 'part-start' }>['content']
type PartDelta = Extract<ReplyEvent, { type: 'part-delta' }>['delta']

/** An empty text part is only an announcement. */
function hasContent(part: StartedPart): boolean {
  return (part.kind !== 'text' && part.kind !== 'refusal') || part.text !== ''
}

function lengthOf({ text, arguments: args, summary, transcript }: PartDelta): number {
  return (text?.length ?? 0) + (args?.length ?? 0) + (summary?.length ?? 0) + (transcript?.length ?? 0)
}

function isEmptyDelta(delta: PartDelta): boolean {
  const { signature, encrypted, data, citation, logprobs } = delta
  return lengthOf(delta) === 0 && !signature && !encrypted && !data && !citation && !logprobs?.length
}

export function createRelay(
  request: InferenceRequest,
  { endpoint }: Candidate,
  { dialect, isPassThrough }: Translation,
  facts: ReplyContext,
): Relay {
  if (isPassThrough) return dialect.passthrough.createRelay(facts)
  const { replyCodec } = request.format
  const reader = dialect.upstream.createReader()
  return new TranslatedRelay(
    reader,
    replyCodec.createWriter(facts),
    replyCodec.replyLimits,
    endpoint.provider.signatures,
  )
}
