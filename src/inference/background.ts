import { encodeErrorCode } from '../formats/responses/error.ts'
import { encodeResponse, responseIdOf } from '../formats/responses/response-object.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { BackgroundRun } from '../platform/concurrency/background-runs.ts'
import {
  gatewayError,
  invalidFieldError,
  rateLimitError,
  toGatewayError,
} from '../platform/errors/gateway-error.ts'
import { shareRequestId } from '../platform/http/request-id.ts'
import { sourceSilences } from '../platform/http/response-traits.ts'
import { type SseFrame, SseReader } from '../platform/http/sse.ts'
import { asObject, asString, type JsonObject } from '../platform/json/json-values.ts'
import { type LoggedRequest, logOf } from '../platform/logging/request-log.ts'
import { timedOut } from '../platform/time/coarse-timer.ts'
import {
  buildUnfinishedDelete,
  deleteUnfinishedResponse,
  type FinishedResponse,
  findUnfinishedResponse,
  isUnfinished,
  markInProgress,
  queueResponse,
  requestCancellation,
} from '../storage/background-responses.ts'
import { findResponse, type Owner } from '../storage/stored-responses.ts'
import { buildStreamHeaders, sliceChunk } from './reply/http-response.ts'
import { formats } from './request/formats.ts'
import type { IncomingRequest } from './request/inference-request.ts'
import { newGenerationId } from './request/parse.ts'
import { handleInference } from './serve.ts'
import { shutdownMessage, storeEnded, trimEchoedFields } from './text/background-store.ts'

const minuteMs = 60_000

/** Responds at once with a queued response, and generates it in the background. */
export async function startBackgroundResponse(
  gateway: Gateway,
  owner: Owner,
  incoming: IncomingRequest,
  input: JsonObject[],
): Promise<Response> {
  const { store, body } = incoming
  if (!store || body.store !== true)
    throw invalidFieldError('background', 'requires a stored response; remove store: false')
  const generationId = newGenerationId()
  const id = responseIdOf(generationId)
  const queued = buildQueuedResponse(gateway, generationId, incoming)
  await queue(gateway, owner, id, queued)
  const run = gateway.backgroundRuns.start(id)
  const admitted = Promise.withResolvers<void>()
  const { url, headers } = incoming.httpRequest
  const httpRequest = new Request(url, { method: 'POST', headers, signal: run.signal })
  shareRequestId(incoming.httpRequest, httpRequest)
  gateway.tracer?.share(incoming.httpRequest, httpRequest)
  const logged = { httpRequest, id: generationId }
  const responding = handleInference(gateway, {
    ...incoming,
    id: generationId,
    body: { ...body, stream: true },
    httpRequest,
    onAdmitted: admitted.resolve,
    store: async (reply) =>
      run.complete() ? [...(await store(reply)), buildUnfinishedDelete(gateway.db, id)] : [],
  })
  try {
    // Errors before admission are returned to the client.
    await Promise.race([admitted.promise, responding])
  } catch (error) {
    run.finish()
    await deleteUnfinishedResponse(gateway.db, id)
    throw error
  }
  void runToEnd(gateway, { id, owner, body: queued, input, request: logged }, run, responding)
  const replyHeaders = { 'x-generation-id': generationId }
  if (body.stream !== true) return Response.json(queued, { headers: replyHeaders })
  return respondWithEvents(gateway, run, 0, replyHeaders)
}

function buildQueuedResponse(gateway: Gateway, id: string, { body, format }: IncomingRequest): JsonObject {
  const context = {
    id,
    created: Math.floor(gateway.clock.now() / 1000),
    model: asString(body.model) ?? '',
    provider: '',
    tier: null,
    call: format.requestCodec.decodeRequest(body),
    body,
  }
  return encodeResponse(context, {
    status: 'queued',
    output: [],
    usage: null,
    start: { type: 'reply-start' },
  })
}

async function queue(gateway: Gateway, owner: Owner, id: string, body: JsonObject): Promise<void> {
  const maxQueued = gateway.settings.responses.background
  if (
    await queueResponse(
      gateway,
      { id, owner, nodeId: gateway.node.id, body: trimEchoedFields(body) },
      maxQueued,
    )
  )
    return
  const message = `The workspace already has ${maxQueued} background responses in progress, which is the limit. Wait for one to finish, or cancel one.`
  throw rateLimitError(message, maxQueued, minuteMs, gateway.clock.now())
}

/**
 * Reads the reply to its end and stores the final response. A canceled response ends at once, though a reply that the
 * provider bills anyway is still drained and charged. Never throws, because it is not awaited.
 */
async function runToEnd(
  gateway: Gateway,
  queued: FinishedResponse & { request: LoggedRequest },
  run: BackgroundRun,
  responding: Promise<Response>,
): Promise<void> {
  const state = new ResponseState(queued.body)
  await Promise.race([readReply(gateway, queued.id, run, state, responding), run.cancelled])
  try {
    if (await isUnfinished(gateway.db, queued.id))
      await storeEnded(gateway, { ...queued, body: state.finalResponse(run) })
  } catch (err) {
    logOf(gateway, queued.request).error(
      { err, response: queued.id },
      'failed to store the end of a background response',
    )
  }
  if (!state.hasEnded && run.stopReason !== 'cancelled') {
    const failed = {
      type: 'response.failed',
      sequence_number: run.log.count,
      response: state.finalResponse(run),
    }
    run.log.append(encodeEvent(failed.type, JSON.stringify(failed)), true)
  }
  run.finish()
}

/** Reads the reply. Never throws: an error becomes the end of the response. */
async function readReply(
  gateway: Gateway,
  id: string,
  run: BackgroundRun,
  state: ResponseState,
  responding: Promise<Response>,
): Promise<void> {
  try {
    await readEvents(gateway, id, run, state, await responding)
  } catch (error) {
    const { row, message } = toGatewayError(error)
    if (run.stopReason === null) state.fail(row.errorType, row.status === 500 ? row.message : message)
  }
}

async function readEvents(
  gateway: Gateway,
  id: string,
  run: BackgroundRun,
  state: ResponseState,
  response: Response,
): Promise<void> {
  const reader = new SseReader()
  let isMarked = false
  const append = (frames: SseFrame[]) => {
    for (const frame of frames) {
      state.read(frame)
      run.log.append(encodeEvent(frame.event ?? 'message', frame.data), state.hasEnded)
    }
  }
  for await (const bytes of response.body ?? []) {
    append(reader.push(bytes))
    if (isMarked || !state.hasStarted) continue
    isMarked = true
    await markInProgress(gateway.db, id)
  }
  append(reader.end())
}

function encodeEvent(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`
}

const finalEvents: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
])

/** The state of a response, from the events of its stream. */
class ResponseState {
  readonly #queued: JsonObject
  /** The last event that contains the response; parsed when needed, because it may be long. */
  #lastEvent: string | null = null
  #error: JsonObject | null = null
  /** Whether a final event was received. */
  hasEnded = false
  hasStarted = false

  constructor(queued: JsonObject) {
    this.#queued = queued
  }

  read({ event, data }: SseFrame): void {
    const isEnd = finalEvents.has(event ?? '')
    if (!isEnd && event !== 'response.created' && event !== 'error') return
    this.hasStarted = true
    if (event === 'error') this.fail('', asString(asObject(JSON.parse(data))?.message) ?? '')
    else if (!this.hasEnded) this.#lastEvent = data
    this.hasEnded ||= event !== 'response.created'
  }

  fail(errorType: string, message: string): void {
    if (!this.hasEnded) this.#error ??= { code: encodeErrorCode(errorType), message }
  }

  /** Builds the final response. Without a final event, its status depends on why the run was stopped. */
  finalResponse({ stopReason }: BackgroundRun): JsonObject {
    const body = this.#response()
    if (this.hasEnded && this.#error === null) return body
    if (stopReason === 'cancelled' && !this.hasEnded) return { ...body, status: 'cancelled' }
    this.fail('', stopReason === 'shutdown' ? shutdownMessage : 'The reply was interrupted.')
    return { ...body, status: 'failed', error: this.#error }
  }

  #response(): JsonObject {
    const event = this.#lastEvent === null ? undefined : asObject(JSON.parse(this.#lastEvent))
    return asObject(event?.response) ?? this.#queued
  }
}

function respondWithEvents(
  gateway: Gateway,
  run: BackgroundRun,
  from: number,
  headers: Record<string, string> = {},
): Response {
  const response = new Response(followEvents(gateway, run, from), {
    headers: { ...buildStreamHeaders(formats.responses), ...headers },
  })
  sourceSilences.set(response, 2 * gateway.settings.limits.heartbeat)
  return response
}

/** The events of a run from this number on, with heartbeats while there are none. */
async function* followEvents(gateway: Gateway, { log }: BackgroundRun, from: number): AsyncGenerator<string> {
  const { heartbeat } = gateway.settings.limits
  for (let position = from; ; ) {
    const next = log.read(position)
    let read = await gateway.timer.wait(next, heartbeat)
    while (read === timedOut) {
      yield ': HEADGATE PROCESSING\n\n'
      read = await gateway.timer.wait(next, heartbeat)
    }
    if (read === null) return
    yield* sliceChunk(read.event)
    position = read.next
  }
}

/** A response, finished or not. */
export async function readResponse(gateway: Gateway, owner: Owner, id: string): Promise<JsonObject> {
  return (await findUnfinishedResponse(gateway, owner, id)) ?? findResponse(gateway, owner, id)
}

/** The events of a response after the one with this number. */
export async function streamResponse(
  gateway: Gateway,
  owner: Owner,
  id: string,
  startingAfter: number | undefined,
): Promise<Response> {
  await readResponse(gateway, owner, id)
  const run = gateway.backgroundRuns.get(id)
  if (!run)
    throw invalidFieldError('stream', 'only a background response that is in progress can be streamed')
  const from = startingAfter === undefined ? 0 : startingAfter + 1
  return respondWithEvents(gateway, run, from)
}

/** Cancels a response. Idempotent: a response that has ended is unchanged. */
export async function cancelResponse(gateway: Gateway, owner: Owner, id: string): Promise<JsonObject> {
  const response = await readResponse(gateway, owner, id)
  if (response.background !== true)
    throw gatewayError('invalid_request', 'response_id: only a background response can be canceled')
  const run = gateway.backgroundRuns.get(id)
  if (run) {
    run.stop('cancelled')
    await run.done
  } else if (response.status === 'queued' || response.status === 'in_progress')
    await requestCancellation(gateway.db, id)
  return readResponse(gateway, owner, id)
}
