import type { ReplyEvent } from '../call/event.ts'
import { nothingSeen, type Seen } from '../dialects/dialect.ts'
import type { ReplyLimits } from '../dialects/reply-losses.ts'
import type { Gateway } from '../gateway.ts'
import { JsonError } from '../lib/json-error.ts'
import { spliceJson } from '../lib/json-splice.ts'
import { parseLong } from '../lib/long-json.ts'
import { type JsonObject, objectOf } from '../lib/loose.ts'
import { quiet } from '../lib/pulse.ts'
import { type FrameReader, SseReader } from '../lib/sse.ts'
import { simulators } from '../providers/simulators.ts'
import type { Candidate } from '../routing/candidate.ts'
import type { Asked } from './asked.ts'
import { attemptEach } from './attempt.ts'
import { discreetFrames, discreetReply } from './discretion.ts'
import { checkBounds, EventFlow, type Flow, type FlowLimits, WireFlow } from './flow.ts'
import type { Journey, Taken } from './journey.ts'
import type { Plan } from './route.ts'
import { notedEvents, notedRelay, type Transcript } from './transcript.ts'
import { note, relayFor, signBy, type Translation } from './translate.ts'
import { type Answered, type Exchange, type Outgoing, readBounded, send } from './upstream.ts'
import { tookTooLong, UpstreamError, unexpected } from './upstream-error.ts'

export interface WholeReply {
  seen: Seen
  events: ReplyEvent[]
  /** The upstream's own body, where it is passed on. */
  body: JsonObject | null
}

export interface StreamedReply {
  flow: Flow
  /** What the client is to be sent first: it was held back until the first content. */
  pending: string
}

/** The whole reply of the first endpoint that has one. */
export function dispatchWhole(
  gateway: Gateway,
  asked: Asked,
  plan: Plan,
  journey: Journey,
): Promise<Taken<WholeReply>> {
  const { limits } = gateway.settings
  return attemptEach(gateway, asked, plan, journey, async (exchange, taken) => {
    exchange.allow(limits.whole_reply)
    const replying = wholeReply(gateway, exchange, taken, asked)
    if (taken.candidate.endpoint.provider.billsAbandoned) readOn(gateway, asked, exchange, replying)
    const reply = await replying
    exchange.release()
    return reply
  })
}

/** Though the client leaves: what is billed anyway is read to its end, while there is room for such reading. */
function readOn(gateway: Gateway, asked: Asked, exchange: Exchange, replying: Promise<unknown>): void {
  exchange.outliveClient()
  const over = () => undefined
  const leave = () => gateway.drains.use(() => replying.then(over, over)).then(() => exchange.abort())
  asked.request.signal.addEventListener('abort', () => void leave(), { once: true })
}

async function wholeReply(
  gateway: Gateway,
  exchange: Exchange,
  { candidate, translation, transcript }: Omit<Taken<unknown>, 'reply'>,
  asked: Asked,
): Promise<WholeReply> {
  const { writes } = asked.format
  const simulate = simulators.get(candidate.endpoint.provider.slug)
  if (simulate) {
    const events = simulate(asked.call, candidate.endpoint.upstream_model, simulation(gateway, exchange))
    return wholeOf(await gather(gateway, exchange, events), null, transcript, writes.replyLimits)
  }
  const answered = await send(gateway, exchange, outgoing(asked, translation))
  const body = await bodyOf(exchange, answered)
  const limits = translation.passes ? null : writes.replyLimits
  const reply = readWhole(candidate, translation, body, transcript, limits)
  checkBounds(reply.seen, { parts: gateway.settings.limits.reply_parts, characters: answered.mostBytes })
  return reply
}

function readWhole(
  candidate: Candidate,
  translation: Translation,
  body: JsonObject,
  transcript: Transcript | null,
  limits: ReplyLimits | null,
): WholeReply {
  const isGlanced = translation.passes && !transcript
  const seen = isGlanced ? translation.dialect.same.seeReply?.(body) : undefined
  if (seen) return { seen, events: [], body }
  return wholeOf(eventsOf(candidate, translation, body), body, transcript, limits)
}

function eventsOf({ endpoint }: Candidate, { dialect }: Translation, body: JsonObject): ReplyEvent[] {
  const events = dialect.upstream.decodeReply(body)
  for (const event of events) signBy(endpoint.provider.signatures, event)
  return events
}

function wholeOf(
  events: ReplyEvent[],
  body: JsonObject | null,
  transcript: Transcript | null,
  limits: ReplyLimits | null,
): WholeReply {
  const seen = nothingSeen()
  for (const event of events) {
    note(seen, event, limits)
    transcript?.add(event)
  }
  if (!seen.content) requireEnd(seen)
  return { seen, events, body }
}

/** A reply without content is one only if it says how it ended, and not with an error. */
function requireEnd({ failure, complete, finishes }: Seen): void {
  if (failure) throw new UpstreamError(failure)
  const isMeant = complete && finishes.some((finish) => finish && finish.reason !== 'error')
  if (!isMeant) throw unexpected('The provider gave an empty reply.')
}

async function bodyOf(exchange: Exchange, answered: Answered): Promise<JsonObject> {
  const { response, secrets, mostBytes, mostContainers } = answered
  const text = await readBounded(response, mostBytes, exchange)
  try {
    const body = objectOf(parseLong(discreetReply(text, secrets), mostContainers))
    if (body) return body
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
  }
  throw unexpected('The provider gave a reply that is not a JSON object.')
}

/** The stream of the first endpoint whose reply has begun. */
export function dispatchStream(
  gateway: Gateway,
  asked: Asked,
  plan: Plan,
  journey: Journey,
): Promise<Taken<StreamedReply>> {
  const { limits } = gateway.settings
  return attemptEach(gateway, asked, plan, journey, async (exchange, taken) => {
    exchange.allow(limits.first_byte)
    const flow = await openFlow(gateway, exchange, taken, asked)
    const pending = await untilContent(gateway, exchange, flow, mostPendingOf(asked))
    if (taken.candidate.endpoint.provider.billsAbandoned) exchange.outliveClient()
    return { flow, pending }
  })
}

async function openFlow(
  gateway: Gateway,
  exchange: Exchange,
  { candidate, translation, facts, transcript }: Omit<Taken<unknown>, 'reply'>,
  asked: Asked,
): Promise<Flow> {
  const { writes } = asked.format
  const simulate = simulators.get(candidate.endpoint.provider.slug)
  if (simulate) {
    const events = simulate(asked.call, candidate.endpoint.upstream_model, simulation(gateway, exchange))
    const noted = notedEvents(events, transcript)
    const flowLimits = limitsOf(gateway, gateway.settings.limits.reply_bytes)
    return new EventFlow(noted, writes.writer(facts), writes.replyLimits, exchange, flowLimits)
  }
  const answered = await send(gateway, exchange, outgoing(asked, translation))
  const { response, secrets, mostContainers } = answered
  const flowLimits = limitsOf(gateway, answered.mostBytes)
  if (response.headers.get('content-type')?.startsWith('application/json')) {
    const body = await bodyOf(exchange, answered)
    const events = eventsOf(candidate, translation, body)
    const noted = notedEvents(events.values(), transcript)
    return new EventFlow(noted, writes.writer(facts), writes.replyLimits, exchange, flowLimits)
  }
  const relay = relayFor(asked, candidate, translation, facts)
  const noted = notedRelay(relay, translation.dialect, transcript)
  const frames = discreetFrames(framesOf(response, translation), secrets, mostContainers)
  return new WireFlow(response, noted, exchange, frames, flowLimits)
}

function limitsOf({ settings, turns }: Gateway, mostBytes: number): FlowLimits {
  const { reply_bytes, reply_events, reply_parts } = settings.limits
  const characters = Math.min(mostBytes, mostCharacters)
  return { turns, bounds: { bytes: reply_bytes, events: reply_events, parts: reply_parts, characters } }
}

/** Of the text of a stream: some formats repeat all of it in their last event, which is written in one go. */
const mostCharacters = 32 * 1024 * 1024

/** Server-sent events, unless the provider has frames of its own and these are they. */
function framesOf({ headers }: Response, { dialect, access }: Translation): FrameReader {
  const own = access.endpoint.provider.wire?.[dialect.name]?.frames
  const isUsual = headers.get('content-type')?.startsWith('text/event-stream')
  return own && !isUsual ? own() : new SseReader(access.isUserNamed ? userNamedFrame : undefined)
}

/** In characters. */
const userNamedFrame = 4 * 1024 * 1024

/**
 * What comes before the first content is kept: until then another endpoint may take over unnoticed. Whatever
 * comes shows that the provider is at work, but only content ends the time that it has for its first content.
 */
async function untilContent(
  gateway: Gateway,
  exchange: Exchange,
  flow: Flow,
  mostPending: number,
): Promise<string> {
  const { first_byte, first_content, idle, total } = gateway.settings.limits
  const deadline = performance.now() + first_content
  let pending = ''
  for (let patience = first_byte; ; patience = idle) {
    const left = deadline - performance.now()
    const text = left > 0 ? await gateway.pulse.wait(flow.next(), Math.min(patience, left)) : quiet
    if (text === quiet) throw tookTooLong()
    // Something came: from here on it is silence that counts, not slowness.
    exchange.allow(total)
    if (text !== null) pending += text
    const { content, failure } = flow.seen
    if (content) break
    if (failure || text === null) requireEnd(flow.seen)
    if (text === null) break
    if (pending.length > mostPending) throw unexpected('The provider sent too much before its first content.')
  }
  return pending
}

/** Beside the request, which some formats repeat in the first events of the reply. */
const pendingCharacters = 1024 * 1024

function mostPendingOf({ source }: Asked): number {
  return pendingCharacters + 4 * source.text.length
}

function simulation({ settings }: Gateway, exchange: Exchange) {
  return {
    signal: exchange.signal,
    sleep: (ms: number) => sleep(ms, exchange.signal),
    mostBytes: settings.limits.reply_bytes,
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
async function gather(
  { turns }: Gateway,
  exchange: Exchange,
  events: AsyncIterator<ReplyEvent>,
): Promise<ReplyEvent[]> {
  const gathered: ReplyEvent[] = []
  try {
    for (;;) {
      for (let turn = turns.next; turn; turn = turns.next) await turn
      exchange.signal.throwIfAborted()
      const { done, value } = await turns.run(() => events.next())
      if (done) return gathered
      gathered.push(value)
    }
  } catch (error) {
    throw exchange.explain(error)
  }
}

/** Where the reply passes, so does what the client said beside the body. */
export function outgoing(asked: Asked, { dialect, request, passes, access }: Translation): Outgoing {
  const { upstream, same, name } = dialect
  const passed = passes ? passedHeaders(same.headers, asked) : {}
  const plain = { path: request.path, headers: { ...request.headers, ...passed }, body: request.body }
  const { upstream_model: model, provider } = access.endpoint
  const wire = provider.wire?.[name]
  const shaped = wire?.shape({ ...plain, model, stream: asked.call.stream }) ?? plain
  const { path, headers, body } = shaped
  const { source } = asked
  const text = passes ? spliceJson(source.text, source.body, body) : JSON.stringify(body)
  return { path, headers, upstream, access, text, isShaped: wire !== undefined }
}

function passedHeaders(names: readonly string[], { request }: Asked): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name of names) {
    const value = request.headers.get(name)
    if (value !== null) headers[name] = value
  }
  return headers
}
