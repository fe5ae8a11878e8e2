import {
  cancelRequests,
  dropUnfinished,
  type EndedResponse,
  findUnfinished,
  finishResponse,
  isUnfinished,
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
import { jsonLength } from '../lib/long-json.ts'
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
  input: JsonObject[],
): Promise<Response> {
  const { keep, body } = question
  if (!keep || body.store !== true)
    throw badField('background', 'needs a response that is stored; leave out store: false')
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
    keep: async (reply) =>
      run.complete() ? [...(await keep(reply)), unfinishedRemoval(gateway.db, id)] : [],
  })
  try {
    // What is wrong with the request itself is told to who sends it.
    await Promise.race([admitted.promise, answering])
  } catch (error) {
    run.finish()
    await dropUnfinished(gateway.db, id)
    throw error
  }
  void carryOut(gateway, { id, owner, body: queued, input }, run, answering)
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
  if (await queueResponse(gateway, { id, owner, nodeId: gateway.node.id, body: brief(body) }, most)) return
  const message = `The workspace has ${most} background responses under way, as many as it may. Wait for one to end, or cancel one.`
  throw rateLimited(message, most, minuteMs, gateway.clock.now())
}

/** Longer instructions and tools are not repeated in what is stored of a response before it is complete. */
const mostRepeated = 256 * 1024

function brief(response: JsonObject): JsonObject {
  const { instructions, tools } = response
  if (jsonLength({ instructions, tools }) <= mostRepeated) return response
  return { ...response, instructions: null, tools: [] }
}

/**
 * Reads the reply to its end and stores how it ended. One that is cancelled has ended at once, though what a provider
 * bills anyway is still read and charged. Never throws: nobody waits.
 */
async function carryOut(
  gateway: Gateway,
  queued: EndedResponse,
  run: BackgroundRun,
  answering: Promise<Response>,
): Promise<void> {
  const last = new LastState(queued.body)
  await Promise.race([readReply(gateway, queued.id, run, last, answering), run.cancelled])
  try {
    if (await isUnfinished(gateway.db, queued.id)) await end(gateway, { ...queued, body: last.after(run) })
  } catch (err) {
    gateway.log.error({ err, id: queued.id }, 'the end of a background response was not stored')
  }
  if (!last.isEnded && run.stopReason !== 'cancelled') {
    const failed = { type: 'response.failed', sequence_number: run.log.count, response: last.after(run) }
    run.log.append(eventText(failed.type, JSON.stringify(failed)), true)
  }
  run.finish()
}

async function end(gateway: Gateway, ended: EndedResponse): Promise<void> {
  const { responses } = gateway.settings
  const stored = { ...ended, body: brief(ended.body) }
  const bytes = await finishResponse(gateway, stored, responses.retention_days)
  if (bytes > 0) gateway.responseQuota.note(ended.owner.workspaceId, bytes, responses)
}

/** Never throws: what goes wrong is how the response ended. */
async function readReply(
  gateway: Gateway,
  id: string,
  run: BackgroundRun,
  last: LastState,
  answering: Promise<Response>,
): Promise<void> {
  try {
    await readEvents(gateway, id, run, last, await answering)
  } catch (error) {
    const { row, message } = asGatewayError(error)
    if (run.stopReason === null) last.fail(row.errorType, row.status === 500 ? row.message : message)
  }
}

async function readEvents(
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
      run.log.append(eventText(frame.event ?? 'message', frame.data), last.isEnded)
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

function eventText(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`
}

const endings: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** What is known of a response, from the events of its stream. */
class LastState {
  readonly #queued: JsonObject
  /** The last event that has the response in it; parsed when it is needed, as it may be long. */
  #data: string | null = null
  #error: JsonObject | null = null
  /** An event has told how it ended. */
  isEnded = false
  isBegun = false

  constructor(queued: JsonObject) {
    this.#queued = queued
  }

  read({ event, data }: SseFrame): void {
    const isEnd = endings.has(event ?? '')
    if (!isEnd && event !== 'response.created' && event !== 'error') return
    this.isBegun = true
    if (event === 'error') this.fail('', textOf(objectOf(JSON.parse(data))?.message) ?? '')
    else if (!this.isEnded) this.#data = data
    this.isEnded ||= event !== 'response.created'
  }

  fail(errorType: string, message: string): void {
    if (!this.isEnded) this.#error ??= { code: responseErrorCode(errorType), message }
  }

  /** Where no event told the end, the reason why it was stopped does. */
  after({ stopReason }: BackgroundRun): JsonObject {
    const body = this.#response()
    if (this.isEnded && this.#error === null) return body
    if (stopReason === 'cancelled' && !this.isEnded) return { ...body, status: 'cancelled' }
    this.fail('', stopReason === 'shutdown' ? stopped : 'The reply broke off.')
    return { ...body, status: 'failed', error: this.#error }
  }

  #response(): JsonObject {
    const told = this.#data === null ? undefined : objectOf(JSON.parse(this.#data))
    return objectOf(told?.response) ?? this.#queued
  }
}

const stopped = 'The gateway was stopped before the response was complete. Send the request again.'

/** The events of a run from this number on, with heartbeats while it is quiet. */
async function* followed(gateway: Gateway, { log }: BackgroundRun, from: number): AsyncGenerator<string> {
  const { heartbeat } = gateway.settings.limits
  for (let place = from; ; ) {
    const next = log.at(place)
    let read = await gateway.pulse.wait(next, heartbeat)
    while (read === quiet) {
      yield ': HEADGATE PROCESSING\n\n'
      read = await gateway.pulse.wait(next, heartbeat)
    }
    if (read === null) return
    yield read.event
    place = read.next
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
  const { db, node, background } = gateway
  for (const id of await cancelRequests(db, node.id)) background.get(id)?.stop('cancelled')
  for (const { id, owner, body } of await orphanedResponses(gateway, node.id)) {
    const failed = { ...body, status: 'failed', error: { code: responseErrorCode(''), message: stopped } }
    await end(gateway, { id, owner, body: failed, input: [] })
  }
}
