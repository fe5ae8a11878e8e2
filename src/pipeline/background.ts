import {
  cancelRequests,
  dropUnfinished,
  findUnfinished,
  finishResponse,
  markInProgress,
  orphanedResponses,
  queueResponse,
  requestCancel,
  unfinishedRemoval,
} from '../account/background-responses.ts'
import { findResponse, type Owner } from '../account/stored-responses.ts'
import { responseErrorCode } from '../dialects/responses/error.ts'
import { responseId, responseObject } from '../dialects/responses/response-object.ts'
import { asGatewayError, badField, fail, rateLimited } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import type { BackgroundRun } from '../lib/background.ts'
import { type JsonObject, objectOf, textOf } from '../lib/loose.ts'
import { quiet } from '../lib/pulse.ts'
import { type SseFrame, SseReader } from '../lib/sse.ts'
import { answer, streamHeadersFor } from './answer.ts'
import type { Question } from './asked.ts'
import { formats } from './formats.ts'
import { newGenerationId } from './read.ts'

const minuteMs = 60_000

/** Answers at once with a queued response, and makes it without its client. */
export async function answerInBackground(
  gateway: Gateway,
  owner: Owner,
  question: Question,
): Promise<Response> {
  const { keep, body } = question
  if (!keep) throw badField('background', 'needs a response that is stored; leave out store: false')
  const generationId = newGenerationId()
  const id = responseId(generationId)
  const queued = queuedResponse(gateway, generationId, question)
  await queue(gateway, owner, id, queued)
  const run = gateway.background.start(id)
  const admitted = Promise.withResolvers<void>()
  const answering = answer(gateway, {
    ...question,
    id: generationId,
    body: { ...body, stream: true },
    request: new Request(question.request.url, {
      method: 'POST',
      headers: question.request.headers,
      signal: run.signal,
    }),
    admitted: admitted.resolve,
    keep: async (reply) => [...(await keep(reply)), unfinishedRemoval(gateway.db, id)],
  })
  try {
    // What is wrong with the request itself is told to who sends it.
    await Promise.race([admitted.promise, answering])
  } catch (error) {
    run.finish()
    await dropUnfinished(gateway.db, id)
    throw error
  }
  void carryOut(gateway, { id, owner, queued }, run, answering)
  const headers = { 'x-generation-id': generationId }
  if (body.stream !== true) return Response.json(queued, { headers })
  return new Response(followed(gateway, run, 0), {
    headers: { ...streamHeadersFor(formats.responses), ...headers },
  })
}

function queuedResponse(gateway: Gateway, id: string, { body, format }: Question): JsonObject {
  const about = {
    id,
    created: Math.floor(gateway.clock.now() / 1000),
    model: textOf(body.model) ?? '',
    provider: '',
    tier: null,
    call: format.reads.decodeRequest(body),
    body,
  }
  return responseObject(about, { status: 'queued', output: [], usage: null, start: { type: 'reply-start' } })
}

async function queue(gateway: Gateway, owner: Owner, id: string, body: JsonObject): Promise<void> {
  const most = gateway.settings.responses.background
  if (await queueResponse(gateway, { id, owner, nodeId: gateway.node.id, body }, most)) return
  const message = `The workspace has ${most} background responses under way, as many as it may. Wait for one to end, or cancel one.`
  throw rateLimited(message, most, minuteMs, gateway.clock.now())
}

interface Queued {
  id: string
  owner: Owner
  queued: JsonObject
}

/** Reads the reply to its end and stores how it ended. Never throws: nobody waits. */
async function carryOut(
  gateway: Gateway,
  { id, owner, queued }: Queued,
  run: BackgroundRun,
  answering: Promise<Response>,
): Promise<void> {
  const last = new LastState(queued)
  try {
    await readAll(gateway, id, run, last, await answering)
  } catch (error) {
    const { row, message } = asGatewayError(error)
    if (run.stopReason === null) last.fail(row.errorType, row.status === 500 ? row.message : message)
  }
  try {
    const body = last.after(run)
    await finishResponse(gateway, { id, owner, body }, gateway.settings.responses.retention_days)
  } catch (err) {
    gateway.log.error({ err, id }, 'the end of a background response was not stored')
  }
  run.finish()
}

async function readAll(
  gateway: Gateway,
  id: string,
  run: BackgroundRun,
  last: LastState,
  response: Response,
): Promise<void> {
  const reader = new SseReader()
  let isBegun = false
  const take = (frames: SseFrame[]) => {
    for (const frame of frames) {
      last.read(frame)
      run.log.append(`event: ${frame.event}\ndata: ${frame.data}\n\n`)
    }
  }
  for await (const bytes of response.body ?? []) {
    take(reader.push(bytes))
    if (isBegun || !last.isBegun) continue
    isBegun = true
    await markInProgress(gateway.db, id)
  }
  take(reader.end())
}

const endings: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** What is known of a response, from the events that it was told with. */
class LastState {
  #body: JsonObject
  #isEnded = false
  isBegun = false

  constructor(queued: JsonObject) {
    this.#body = queued
  }

  read({ event, data }: SseFrame): void {
    const isEnd = endings.has(event ?? '')
    if (!isEnd && event !== 'response.created' && event !== 'error') return
    const told = objectOf(JSON.parse(data)) ?? {}
    this.isBegun = true
    if (event === 'error') this.fail('', textOf(told.message) ?? '')
    else {
      this.#body = objectOf(told.response) ?? this.#body
      this.#isEnded ||= isEnd
    }
  }

  fail(errorType: string, message: string): void {
    if (this.#isEnded) return
    this.#isEnded = true
    const error = { code: responseErrorCode(errorType), message }
    this.#body = { ...this.#body, status: 'failed', error }
  }

  /** Where no event told the end, the reason why it was stopped does. */
  after({ stopReason }: BackgroundRun): JsonObject {
    if (stopReason === 'cancelled' && !this.#isEnded) return { ...this.#body, status: 'cancelled' }
    this.fail('', stopReason === 'shutdown' ? stopped : 'The reply broke off.')
    return this.#body
  }
}

const stopped = 'The gateway was stopped before the response was complete. Send the request again.'

/** The events of a run from this number on, with heartbeats while it is quiet. */
async function* followed(gateway: Gateway, { log }: BackgroundRun, from: number): AsyncGenerator<string> {
  const { heartbeat } = gateway.settings.limits
  for (let place = from; ; place++) {
    const next = log.at(place)
    let event = await gateway.pulse.wait(next, heartbeat)
    while (event === quiet) {
      yield ': HEADGATE PROCESSING\n\n'
      event = await gateway.pulse.wait(next, heartbeat)
    }
    if (event === null) return
    yield event
  }
}

/** A response, finished or not. */
export async function readResponse(gateway: Gateway, owner: Owner, id: string): Promise<JsonObject> {
  return (await findUnfinished(gateway, owner, id)) ?? findResponse(gateway, owner, id)
}

/** The events of a response after the one with this number. */
export async function streamResponse(
  gateway: Gateway,
  owner: Owner,
  id: string,
  startingAfter: number | undefined,
): Promise<Response> {
  await readResponse(gateway, owner, id)
  const run = gateway.background.get(id)
  if (!run) throw badField('stream', 'only a background response that is still being made can be streamed')
  const from = startingAfter === undefined ? 0 : startingAfter + 1
  return new Response(followed(gateway, run, from), { headers: streamHeadersFor(formats.responses) })
}

/** Idempotent: one that has ended stays as it ended. */
export async function cancelResponse(gateway: Gateway, owner: Owner, id: string): Promise<JsonObject> {
  const found = await readResponse(gateway, owner, id)
  if (found.background !== true)
    throw fail('invalid_request', 'response_id: only a background response can be cancelled')
  const run = gateway.background.get(id)
  if (run) {
    run.stop('cancelled')
    await run.done
  } else if (found.status === 'queued' || found.status === 'in_progress') await requestCancel(gateway.db, id)
  return readResponse(gateway, owner, id)
}

/** Stops what other nodes were asked to cancel, and ends what a node that is gone has left. */
export async function tendBackground(gateway: Gateway): Promise<void> {
  const { db, node, background, settings } = gateway
  for (const id of await cancelRequests(db, node.id)) background.get(id)?.stop('cancelled')
  for (const { id, owner, body } of await orphanedResponses(gateway, node.id)) {
    const failed = { ...body, status: 'failed', error: { code: responseErrorCode(''), message: stopped } }
    await finishResponse(gateway, { id, owner, body: failed }, settings.responses.retention_days)
  }
}
