import { setTimeout as wait } from 'node:timers/promises'
import type { ReplyEvent } from '../../formats/call/event.ts'
import { countListEntries } from '../../formats/reply-lists.ts'
import { addLosses, type ReplyLimits } from '../../formats/reply-losses.ts'
import { newReplySummary, type ReplySummary } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import { JsonError } from '../../platform/json/json-error.ts'
import { asObject, type JsonObject } from '../../platform/json/json-values.ts'
import { parseLongJson, type TextRewrite } from '../../platform/json/long-json.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import { tooManyPartsError, UpstreamError, unexpectedReplyError } from '../failures/errors.ts'
import { redactReply } from '../failures/redact-secrets.ts'
import type { Awaitable } from '../reply/join-texts.ts'
import { markSignature } from '../reply/relay.ts'
import { recordEvent } from '../reply/summary.ts'
import type { ReplyPipeline } from '../reply/transforms.ts'
import type { Candidate } from '../routing/candidate.ts'
import type { Attempt } from './attempt.ts'
import type { UpstreamExchange } from './exchange.ts'
import { readBounded } from './read-body.ts'
import { send, type UpstreamResponse } from './send.ts'
import type { Translation } from './translate.ts'

export interface WholeReply {
  summary: ReplySummary
  /** Events after the transforms. */
  events: readonly ReplyEvent[]
  /** The upstream's body; null if transforms changed the reply, or if it was not received as one. */
  body: JsonObject | null
  /** The length of its text; null without a body. */
  length: number | null
  /** The error with which a transform refused the reply; null if none has. */
  refusal: GatewayError | null
}

/** `limits` are those of the format the reply is re-encoded in; null for a pass-through. */
export function decodeReply(
  { candidate, translation, pipeline }: Attempt,
  { body, length }: ReceivedBody,
  limits: ReplyLimits | null,
): Awaitable<WholeReply> {
  const { wireFormat } = translation
  const isUnchanged = translation.isPassThrough && !pipeline.hasTransforms
  const summary =
    isUnchanged && !pipeline.hasObservers
      ? translation.wireFormat.passthrough.summarizeReply?.(body)
      : undefined
  if (summary) return { summary, events: [], body, length, refusal: null }
  // Observers of an unchanged body see its signatures as the client does, without the vendor's mark.
  const events = isUnchanged
    ? wireFormat.upstream.decodeReply(body)
    : decodeEvents(candidate, translation, body)
  return processEvents(events, { body, length }, pipeline, limits)
}

export function decodeEvents(
  { endpoint }: Candidate,
  { wireFormat }: Translation,
  body: JsonObject,
): ReplyEvent[] {
  const events = wireFormat.upstream.decodeReply(body)
  for (const event of events) markSignature(endpoint.provider.signatures, event)
  return events
}

export function processEvents(
  events: ReplyEvent[],
  received: ReceivedBody | null,
  pipeline: ReplyPipeline,
  limits: ReplyLimits | null,
): Awaitable<WholeReply> {
  const summary = newReplySummary()
  for (const event of events) recordEvent(summary, event, limits)
  if (!summary.hasContent) assertFinished(summary)
  if (pipeline.hasTransforms) return transformEvents(summary, events, pipeline)
  pipeline.observe(events)
  return { summary, events, body: received?.body ?? null, length: received?.length ?? null, refusal: null }
}

/** A refused reply was received and is charged, so that the refusal is no error here. */
async function transformEvents(
  summary: ReplySummary,
  events: readonly ReplyEvent[],
  pipeline: ReplyPipeline,
): Promise<WholeReply> {
  const transformed: ReplyEvent[] = []
  try {
    for (const event of events) transformed.push(...(await pipeline.push(event)))
    transformed.push(...(await pipeline.end()))
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return { summary, events: [], body: null, length: null, refusal: error }
  }
  addLosses(summary.losses, pipeline.losses)
  return { summary, events: transformed, body: null, length: null, refusal: null }
}

/** A reply without content is valid only if it was completed, and not by an error. */
export function assertFinished({ failure, isComplete, finishReasons }: ReplySummary): void {
  if (failure) throw new UpstreamError(failure)
  const isDeliberate = isComplete && finishReasons.some((finish) => finish && finish.reason !== 'error')
  if (!isDeliberate) throw unexpectedReplyError('The provider sent an empty reply.')
}

export interface ReceivedBody {
  body: JsonObject
  /** The length of its text. */
  length: number
}

export async function readJsonBody(
  exchange: UpstreamExchange,
  upstream: UpstreamResponse,
  parse?: typeof parseLongJson,
): Promise<JsonObject> {
  return (await receiveJsonBody(exchange, upstream, parse)).body
}

const firstDelayMs = 200
const maxDelayMs = 5000

/** The body of a whole reply of a model. One that the vendor has only queued is polled until it has ended. */
export async function receiveReply(
  gateway: Gateway,
  exchange: UpstreamExchange,
  translation: Pick<Translation, 'wireFormat'>,
  upstream: UpstreamResponse,
): Promise<ReceivedBody> {
  let received = await receiveBody(exchange, upstream, translation)
  const { findPendingId } = translation.wireFormat.upstream
  if (!findPendingId) return received
  let id = findPendingId(received.body)
  if (id !== null) exchange.setTimeout(exchange.limits.whole_reply)
  for (let delay = firstDelayMs; id !== null; delay = Math.min(2 * delay, maxDelayMs)) {
    await wait(delay, undefined, { signal: exchange.signal }).catch((error: unknown) => {
      throw exchange.toError(error)
    })
    const { call } = upstream
    const poll = { ...call, method: 'GET' as const, path: `${call.path}/${id}`, body: null }
    received = await receiveBody(exchange, await send(gateway, exchange, poll), translation)
    id = findPendingId(received.body)
  }
  return received
}

/** Receives a JSON body and counts its parts before it is decoded. */
export async function receiveBody(
  exchange: UpstreamExchange,
  upstream: UpstreamResponse,
  { wireFormat }: Pick<Translation, 'wireFormat'>,
): Promise<ReceivedBody> {
  const received = await receiveJsonBody(exchange, upstream)
  const { maxParts } = upstream
  // An entry has at least two characters.
  const mayExceed = received.length > 2 * maxParts
  if (mayExceed && countListEntries(received.body, wireFormat.upstream.replyLists, maxParts) > maxParts)
    throw tooManyPartsError(maxParts)
  return received
}

/**
 * Characters above which a reply may take tens of milliseconds to parse: the event loop is yielded before it is
 * decoded.
 */
const longReplyLength = 512 * 1024

export async function receiveJsonBody(
  exchange: UpstreamExchange,
  { response, secrets, maxBytes, maxValues }: UpstreamResponse,
  parse: typeof parseLongJson = parseLongJson,
): Promise<ReceivedBody> {
  const text = await readBounded(response, maxBytes, exchange)
  try {
    const redact: TextRewrite = (whole, skeleton) => redactReply(whole, secrets, skeleton)
    const body = asObject(await parse(text, maxValues, redact))
    if (text.length > longReplyLength) await yieldToEventLoop()
    if (body) return { body, length: text.length }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw unexpectedReplyError(`The reply from the provider is ${error.message}.`)
  }
  throw unexpectedReplyError('The provider sent a reply that is not a JSON object.')
}
