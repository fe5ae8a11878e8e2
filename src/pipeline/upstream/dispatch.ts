import type { Gateway } from '../../app/gateway.ts'
import type { ReplyEvent } from '../../call/event.ts'
import { newReplySummary, type ReplySummary } from '../../dialects/dialect.ts'
import type { ReplyLimits } from '../../dialects/reply-losses.ts'
import { timedOut } from '../../lib/coarse-timer.ts'
import { JsonError } from '../../lib/json-error.ts'
import { spliceJson } from '../../lib/json-splice.ts'
import { asObject, type JsonObject } from '../../lib/json-values.ts'
import { parseLongJson } from '../../lib/long-json.ts'
import { type FrameReader, SseReader } from '../../lib/sse.ts'
import { simulators } from '../../providers/simulators.ts'
import type { Candidate } from '../../routing/candidate.ts'
import {
  checkBounds,
  EventStream,
  type ReplyStream,
  type StreamLimits,
  UpstreamStream,
} from '../reply/reply-stream.ts'
import { type Transcript, tapEvents, tapRelay } from '../reply/transcript.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import type { RoutingPlan } from '../routing/plan.ts'
import type { AcceptedAttempt, RequestTrace } from '../settlement/trace.ts'
import { timeoutError, UpstreamError, unexpectedReplyError } from './errors.ts'
import {
  readBounded,
  send,
  type UpstreamCall,
  type UpstreamExchange,
  type UpstreamResponse,
} from './exchange.ts'
import { withFailover } from './failover.ts'
import { redactFrames, redactReply } from './redact-secrets.ts'
import { createRelay, markSignature, recordEvent, type Translation } from './translate.ts'

export interface WholeReply {
  summary: ReplySummary
  events: ReplyEvent[]
  /** The upstream's own body, where it is passed on. */
  body: JsonObject | null
}

export interface StreamedReply {
  stream: ReplyStream
  /** What the client is to be sent first: it was held back until the first content. */
  pending: string
}

/** The whole reply of the first endpoint that has one. */
export function dispatchWhole(
  gateway: Gateway,
  request: InferenceRequest,
  plan: RoutingPlan,
  trace: RequestTrace,
): Promise<AcceptedAttempt<WholeReply>> {
  const { limits } = gateway.settings
  return withFailover(gateway, request, plan, trace, async (exchange, attempt) => {
    exchange.setTimeout(limits.whole_reply)
    const replying = fetchReply(gateway, exchange, attempt, request)
    if (attempt.candidate.endpoint.provider.billsAbandoned)
      drainAbandoned(gateway, request, exchange, replying)
    const reply = await replying
    exchange.release()
    return reply
  })
}

/** Though the client leaves: what is billed anyway is read to its end, while there is room for such reading. */
function drainAbandoned(
  gateway: Gateway,
  request: InferenceRequest,
  exchange: UpstreamExchange,
  replying: Promise<unknown>,
): void {
  exchange.outliveClient()
  const over = () => undefined
  const leave = () =>
    gateway.drainLimiter.tryRun(() => replying.then(over, over)).then(() => exchange.abort())
  request.httpRequest.signal.addEventListener('abort', () => void leave(), { once: true })
}

async function fetchReply(
  gateway: Gateway,
  exchange: UpstreamExchange,
  { candidate, translation, transcript }: Omit<AcceptedAttempt<unknown>, 'reply'>,
  request: InferenceRequest,
): Promise<WholeReply> {
  const { replyCodec } = request.format
  const simulate = simulators.get(candidate.endpoint.provider.slug)
  if (simulate) {
    const events = simulate(
      request.call,
      candidate.endpoint.upstream_model,
      simulationContext(gateway, exchange),
    )
    return summarizeReply(
      await collectEvents(gateway, exchange, events),
      null,
      transcript,
      replyCodec.replyLimits,
    )
  }
  const answered = await send(gateway, exchange, buildUpstreamRequest(request, translation))
  const body = await readJsonBody(exchange, answered)
  const limits = translation.isPassThrough ? null : replyCodec.replyLimits
  const reply = decodeReply(candidate, translation, body, transcript, limits)
  checkBounds(reply.summary, { parts: gateway.settings.limits.reply_parts, characters: answered.maxBytes })
  return reply
}

function decodeReply(
  candidate: Candidate,
  translation: Translation,
  body: JsonObject,
  transcript: Transcript | null,
  limits: ReplyLimits | null,
): WholeReply {
  const isGlanced = translation.isPassThrough && !transcript
  const summary = isGlanced ? translation.dialect.passthrough.summarizeReply?.(body) : undefined
  if (summary) return { summary, events: [], body }
  return summarizeReply(decodeEvents(candidate, translation, body), body, transcript, limits)
}

function decodeEvents({ endpoint }: Candidate, { dialect }: Translation, body: JsonObject): ReplyEvent[] {
  const events = dialect.upstream.decodeReply(body)
  for (const event of events) markSignature(endpoint.provider.signatures, event)
  return events
}

function summarizeReply(
  events: ReplyEvent[],
  body: JsonObject | null,
  transcript: Transcript | null,
  limits: ReplyLimits | null,
): WholeReply {
  const summary = newReplySummary()
  for (const event of events) {
    recordEvent(summary, event, limits)
    transcript?.add(event)
  }
  if (!summary.hasContent) assertFinished(summary)
  return { summary, events, body }
}

/** A reply without content is one only if it says how it ended, and not with an error. */
function assertFinished({ failure, isComplete, finishReasons }: ReplySummary): void {
  if (failure) throw new UpstreamError(failure)
  const isMeant = isComplete && finishReasons.some((finish) => finish && finish.reason !== 'error')
  if (!isMeant) throw unexpectedReplyError('The provider gave an empty reply.')
}

async function readJsonBody(exchange: UpstreamExchange, answered: UpstreamResponse): Promise<JsonObject> {
  const { response, secrets, maxBytes, maxContainers } = answered
  const text = await readBounded(response, maxBytes, exchange)
  try {
    const body = asObject(parseLongJson(redactReply(text, secrets), maxContainers))
    if (body) return body
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
  }
  throw unexpectedReplyError('The provider gave a reply that is not a JSON object.')
}

/** The stream of the first endpoint whose reply has begun. */
export function dispatchStream(
  gateway: Gateway,
  request: InferenceRequest,
  plan: RoutingPlan,
  trace: RequestTrace,
): Promise<AcceptedAttempt<StreamedReply>> {
  const { limits } = gateway.settings
  return withFailover(gateway, request, plan, trace, async (exchange, attempt) => {
    exchange.setTimeout(limits.first_byte)
    const stream = await openStream(gateway, exchange, attempt, request)
    const pending = await bufferUntilContent(gateway, exchange, stream, maxPendingFor(request))
    if (attempt.candidate.endpoint.provider.billsAbandoned) exchange.outliveClient()
    return { stream, pending }
  })
}

async function openStream(
  gateway: Gateway,
  exchange: UpstreamExchange,
  { candidate, translation, context, transcript }: Omit<AcceptedAttempt<unknown>, 'reply'>,
  request: InferenceRequest,
): Promise<ReplyStream> {
  const { replyCodec } = request.format
  const simulate = simulators.get(candidate.endpoint.provider.slug)
  if (simulate) {
    const events = simulate(
      request.call,
      candidate.endpoint.upstream_model,
      simulationContext(gateway, exchange),
    )
    const noted = tapEvents(events, transcript)
    const flowLimits = buildStreamLimits(gateway, gateway.settings.limits.reply_bytes)
    return new EventStream(
      noted,
      replyCodec.createWriter(context),
      replyCodec.replyLimits,
      exchange,
      flowLimits,
    )
  }
  const answered = await send(gateway, exchange, buildUpstreamRequest(request, translation))
  const { response, secrets, maxContainers } = answered
  const flowLimits = buildStreamLimits(gateway, answered.maxBytes)
  if (response.headers.get('content-type')?.startsWith('application/json')) {
    const body = await readJsonBody(exchange, answered)
    const events = decodeEvents(candidate, translation, body)
    const noted = tapEvents(events.values(), transcript)
    return new EventStream(
      noted,
      replyCodec.createWriter(context),
      replyCodec.replyLimits,
      exchange,
      flowLimits,
    )
  }
  const relay = createRelay(request, candidate, translation, context)
  const noted = tapRelay(relay, translation.dialect, transcript)
  const frames = redactFrames(createFrameReader(response, translation), secrets, maxContainers)
  return new UpstreamStream(response, noted, exchange, frames, flowLimits)
}

function buildStreamLimits({ settings, timeSlicer }: Gateway, mostBytes: number): StreamLimits {
  const { reply_bytes, reply_events, reply_parts } = settings.limits
  const characters = Math.min(mostBytes, maxCharacters)
  return {
    turns: timeSlicer,
    bounds: { bytes: reply_bytes, events: reply_events, parts: reply_parts, characters },
  }
}

/** Of the text of a stream: some formats repeat all of it in their last event, which is written in one go. */
const maxCharacters = 32 * 1024 * 1024

/** Server-sent events, unless the provider has frames of its own and these are they. */
function createFrameReader({ headers }: Response, { dialect, access }: Translation): FrameReader {
  const own = access.endpoint.provider.wire?.[dialect.name]?.createFrameReader
  const isUsual = headers.get('content-type')?.startsWith('text/event-stream')
  return own && !isUsual ? own() : new SseReader(access.isUserNamed ? maxUserNamedFrame : undefined)
}

/** In characters. */
const maxUserNamedFrame = 4 * 1024 * 1024

/**
 * What comes before the first content is kept: until then another endpoint may take over unnoticed. Whatever
 * comes shows that the provider is at work, but only content ends the time that it has for its first content.
 */
async function bufferUntilContent(
  gateway: Gateway,
  exchange: UpstreamExchange,
  flow: ReplyStream,
  mostPending: number,
): Promise<string> {
  const { first_byte, first_content, idle, total } = gateway.settings.limits
  const deadline = performance.now() + first_content
  let pending = ''
  for (let patience = first_byte; ; patience = idle) {
    const left = deadline - performance.now()
    const text = left > 0 ? await gateway.timer.wait(flow.next(), Math.min(patience, left)) : timedOut
    if (text === timedOut) throw timeoutError()
    // Something came: from here on it is silence that counts, not slowness.
    exchange.setTimeout(total)
    if (text !== null) pending += text
    const { hasContent, failure } = flow.summary
    if (hasContent) break
    if (failure || text === null) assertFinished(flow.summary)
    if (text === null) break
    if (pending.length > mostPending)
      throw unexpectedReplyError('The provider sent too much before its first content.')
  }
  return pending
}

/** Beside the request, which some formats repeat in the first events of the reply. */
const basePendingCharacters = 1024 * 1024

function maxPendingFor({ source }: InferenceRequest): number {
  return basePendingCharacters + 4 * source.text.length
}

function simulationContext({ settings }: Gateway, exchange: UpstreamExchange) {
  return {
    signal: exchange.signal,
    sleep: (ms: number) => sleep(ms, exchange.signal),
    maxBytes: settings.limits.reply_bytes,
  }
}

/** Rejects when the signal comes first; nothing of it stays behind on the signal. */
function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

/** All the events of a reply that is made in this process. */
async function collectEvents(
  { timeSlicer }: Gateway,
  exchange: UpstreamExchange,
  events: AsyncIterator<ReplyEvent>,
): Promise<ReplyEvent[]> {
  const gathered: ReplyEvent[] = []
  try {
    for (;;) {
      for (let turn = timeSlicer.pendingYield; turn; turn = timeSlicer.pendingYield) await turn
      exchange.signal.throwIfAborted()
      const { done, value } = await timeSlicer.runCounted(() => events.next())
      if (done) return gathered
      gathered.push(value)
    }
  } catch (error) {
    throw exchange.toError(error)
  }
}

/** Where the reply passes, so does what the client said beside the body. */
export function buildUpstreamRequest(
  request: InferenceRequest,
  { dialect, upstreamRequest, isPassThrough, access }: Translation,
): UpstreamCall {
  const { upstream, passthrough, name } = dialect
  const passed = isPassThrough ? pickHeaders(passthrough.headers, request) : {}
  const plain = {
    path: upstreamRequest.path,
    headers: { ...upstreamRequest.headers, ...passed },
    body: upstreamRequest.body,
  }
  const { upstream_model: model, provider } = access.endpoint
  const wire = provider.wire?.[name]
  const shaped = wire?.adaptRequest({ ...plain, model, stream: request.call.stream }) ?? plain
  const { path, headers, body } = shaped
  const { source } = request
  const text = isPassThrough ? spliceJson(source.text, source.body, body) : JSON.stringify(body)
  return { path, headers, upstream, access, text, isShaped: wire !== undefined }
}

function pickHeaders(names: readonly string[], { httpRequest }: InferenceRequest): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name of names) {
    const value = httpRequest.headers.get(name)
    if (value !== null) headers[name] = value
  }
  return headers
}
