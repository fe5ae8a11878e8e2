import { collect } from '../call/event.ts'
import { asGatewayError, fail, type GatewayError } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import { type Charge, nothingCharged } from '../ledger/charge.ts'
import type { Kept } from '../lib/byte-cache.ts'
import { jsonLength, jsonPieces } from '../lib/long-json.ts'
import type { JsonObject } from '../lib/loose.ts'
import { quiet } from '../lib/pulse.ts'
import { nextTurn } from '../lib/turns.ts'
import { guardRegion } from '../policy/guard.ts'
import { type Admission, admit } from './admit.ts'
import { type Asked, type Format, isLarge, type Question } from './asked.ts'
import { dispatchStream, dispatchWhole, type WholeReply } from './dispatch.ts'
import { failedAttempt, toClientError } from './failure.ts'
import { type Journey, newJourney, type Outcome, type Taken } from './journey.ts'
import { explainError } from './metadata.ts'
import { readAsked } from './read.ts'
import { findKept, Keeping, replay, slotOf } from './response-cache.ts'
import { type Plan, planFor, refuseEmpty } from './route.ts'
import { billOf, type Close, charged, closing, endedBadly } from './settle.ts'
import { StreamRun, streamedBody } from './stream.ts'
import { ClientGoneError, unexpected } from './upstream-error.ts'

/** From a question to its answer: every request that may reach a model comes this way. */
export async function answer(gateway: Gateway, question: Question): Promise<Response> {
  const asked = await readAsked(gateway, question)
  if (isLarge(asked.source)) await nextTurn()
  guardRegion(asked.standing.policy, asked.region)
  const plan = planFor(gateway, asked)
  const answering = answerBy(gateway, asked, plan)
  return asked.wishes.isExplained ? explaining(asked, plan, answering) : answering
}

async function answerBy(gateway: Gateway, asked: Asked, plan: Plan): Promise<Response> {
  refuseEmpty(gateway, asked, plan)
  const slot = slotOf(gateway, asked)
  const kept = slot && findKept(gateway, slot)
  if (kept) return replayed(gateway, asked, plan, kept)
  const admission = await admit(gateway, asked, plan)
  asked.admitted?.()
  const reply = asked.call.stream ? streamed : whole
  if (!slot) return reply(gateway, asked, admission, null)
  const keeping = new Keeping(gateway, slot)
  return reply(gateway, keeping.listening(asked), admission, keeping)
}

async function explaining(asked: Asked, plan: Plan, answering: Promise<Response>): Promise<Response> {
  try {
    return await answering
  } catch (error) {
    explainError(asked, plan, null, error)
    throw error
  }
}

async function whole(
  gateway: Gateway,
  asked: Asked,
  admission: Admission,
  keeping: Keeping | null,
): Promise<Response> {
  const journey = newJourney(asked.startedAt, admission.plan)
  const close = closeOf(gateway, asked, admission, journey, keeping)
  try {
    const taken = await dispatchWhole(gateway, asked, admission.plan, journey)
    const { seen } = taken.reply
    const broken = seen.failure !== null || endedBadly(seen)
    if (broken && !asked.format.writes.carriesFailure) throw brokenReply(journey, taken)
    const charge = charged(gateway, asked, admission, taken.candidate, seen, broken)
    const body = bodyOf(asked, taken, charge)
    const status = broken ? 'failed' : asked.request.signal.aborted ? 'cancelled' : 'completed'
    const outcome: Outcome = { status, charge, seen, error: null, firstTokenMs: null }
    await close(outcome, await asked.keep?.(body))
    return jsonResponse(gateway, body, {
      ...answerHeaders(asked, [...droppedBy(journey), ...seen.lost]),
      ...keeping?.headers,
    })
  } catch (error) {
    throw await failed(asked, journey, close, error)
  }
}

/** Longer answers are written piece by piece, while the client reads them. */
const longAnswer = 1024 * 1024

function jsonResponse({ turns }: Gateway, body: JsonObject, headers: Record<string, string>): Response {
  if (jsonLength(body) < longAnswer) return Response.json(body, { headers })
  return new Response(turns.each(jsonPieces(body)), {
    headers: { 'content-type': 'application/json;charset=utf-8', ...headers },
  })
}

/** What ends a request, and keeps its answer where that is wished for. */
function closeOf(
  gateway: Gateway,
  asked: Asked,
  admission: Admission,
  journey: Journey,
  keeping: Keeping | null,
): Close {
  const close = closing(gateway, asked, admission, journey)
  return keeping ? keeping.closing(asked, journey, close) : close
}

/** The answer to an earlier request that was the same. */
async function replayed(gateway: Gateway, asked: Asked, plan: Plan, kept: Kept): Promise<Response> {
  const { body, dropped, headers } = await replay(gateway, asked, plan, kept)
  const told = { ...answerHeaders(asked, dropped), ...headers }
  if (!Array.isArray(body)) return Response.json(body, { headers: told })
  return new Response(oneByOne(body), { headers: { ...streamHeadersFor(asked.format), ...told } })
}

async function* oneByOne(texts: string[]): AsyncGenerator<string> {
  yield* texts
}

/** A reply that broke off, for a client whose format cannot say so. */
function brokenReply(
  { attempts, attemptAt }: Journey,
  { candidate, reply, translation }: Taken<WholeReply>,
): GatewayError {
  const failure = reply.seen.failure ?? unexpected('The provider ended its reply with an error.').failure
  return toClientError([...attempts, failedAttempt(candidate, failure, attemptAt, translation.passes)])
}

function bodyOf(asked: Asked, { translation, facts, reply, candidate }: Taken<WholeReply>, charge: Charge) {
  const bill = billOf(charge, candidate)
  const { dialect, passes } = translation
  if (passes && reply.body) return dialect.same.passReply(reply.body, facts, bill, charge.usage)
  return asked.format.writes.encodeReply({ ...collect(reply.events), usage: charge.usage }, facts, bill)
}

/** Settles a request that has no answer, and says what the client is told. */
async function failed(asked: Asked, journey: Journey, close: Close, error: unknown): Promise<Error> {
  const gone = error instanceof ClientGoneError
  const told = gone ? fail('request_timeout', 'The client left.') : asGatewayError(error)
  const status = gone ? 'cancelled' : 'failed'
  explainError(asked, journey.plan, journey, told)
  // It is in the log; the client is told of the first error, not of the second.
  await close({ status, charge: nothingCharged, seen: null, error: told, firstTokenMs: null }).catch(
    () => undefined,
  )
  told.headers['x-generation-id'] = asked.id
  return told
}

/** Quick failures keep their status; once the client has waited long enough for a sign of life it is 200. */
async function streamed(
  gateway: Gateway,
  asked: Asked,
  admission: Admission,
  keeping: Keeping | null,
): Promise<Response> {
  const journey = newJourney(asked.startedAt, admission.plan)
  const close = closeOf(gateway, asked, admission, journey, keeping)
  const opening = dispatchStream(gateway, asked, admission.plan, journey)
  const run = new StreamRun(gateway, asked, admission, journey, close)
  try {
    run.overdue = (await gateway.pulse.wait(opening, gateway.settings.limits.heartbeat)) === quiet
  } catch (error) {
    throw await failed(asked, journey, close, error)
  }
  return new Response(streamedBody(gateway, asked, run, opening), {
    headers: {
      ...streamHeadersFor(asked.format),
      ...answerHeaders(asked, droppedBy(journey)),
      ...keeping?.headers,
    },
  })
}

export function streamHeadersFor({ writes }: Format): Record<string, string> {
  return {
    'content-type': writes.streamType ?? 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  }
}

function droppedBy({ translation }: Journey): string[] {
  return translation?.request.dropped ?? []
}

function answerHeaders(asked: Asked, dropped: string[]): Record<string, string> {
  return {
    'x-generation-id': asked.id,
    ...(dropped.length > 0 && { 'x-headgate-dropped': headerList(dropped) }),
  }
}

/** Clients refuse an answer whose headers are too long. */
const longestList = 2000

function headerList(names: string[]): string {
  const list = names.map((name) => name.replace(/[^\x21-\x7e]|,/g, '?')).join(', ')
  return list.length > longestList ? `${list.slice(0, longestList)}...` : list
}
