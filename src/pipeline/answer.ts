import { collect } from '../call/event.ts'
import { fail, GatewayError } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import { type Charge, nothingCharged } from '../ledger/charge.ts'
import { growingHex } from '../lib/ids.ts'
import { quiet } from '../lib/pulse.ts'
import { guardRegion } from '../policy/guard.ts'
import { type Admission, admit } from './admit.ts'
import type { Asked, Question } from './asked.ts'
import { keepsContent } from './content.ts'
import { dispatchStream, dispatchWhole, type WholeReply } from './dispatch.ts'
import { failedAttempt, toClientError } from './failure.ts'
import { type Journey, newJourney, type Outcome, type Taken } from './journey.ts'
import { expandPreset } from './preset.ts'
import { route } from './route.ts'
import { billOf, type Close, charged, closing, endedBadly, replyOf } from './settle.ts'
import { StreamRun, streamedBody } from './stream.ts'
import { ClientGoneError, unexpected } from './upstream.ts'
import { readWishes } from './wishes.ts'

/** From a question to its answer: every request that may reach a model comes this way. */
export async function answer(gateway: Gateway, question: Question): Promise<Response> {
  const asked = await readAsked(gateway, question)
  guardRegion(asked.standing.policy, asked.region)
  const admission = await admit(gateway, asked, route(gateway, asked))
  return asked.call.stream ? streamed(gateway, asked, admission) : whole(gateway, asked, admission)
}

/** The body with its preset, in our own form, and what is known of its sender. */
export async function readAsked(gateway: Gateway, question: Question): Promise<Asked> {
  const { caller, format, request } = question
  const startedAt = performance.now()
  const known = gateway.memory.standingOf(caller.key)
  const standing = known instanceof Promise ? await known : known
  const expanding = expandPreset(gateway, caller.organizationId, format.presets, question.body)
  const { body, presetId } = expanding instanceof Promise ? await expanding : expanding
  const id = `gen-${growingHex()}`
  return {
    ...question,
    body,
    presetId,
    standing,
    call: format.reads.decodeRequest(body),
    wishes: readWishes(body, request.headers, standing.defaultModel),
    keepsContent: keepsContent(standing.logging, { id, keyId: caller.key.id, region: question.region }),
    id,
    at: gateway.clock.now(),
    startedAt,
  }
}

async function whole(gateway: Gateway, asked: Asked, admission: Admission): Promise<Response> {
  const journey = newJourney(asked.startedAt)
  const close = closing(gateway, asked, admission, journey)
  try {
    const taken = await dispatchWhole(gateway, asked, admission.plan, journey)
    const { seen } = taken.reply
    const broken = seen.failure !== null || endedBadly(seen)
    if (broken && !asked.format.writes.carriesFailure) throw brokenReply(journey, taken)
    const charge = charged(gateway, asked, admission, taken.candidate, replyOf(seen, broken))
    const body = bodyOf(asked, taken, charge)
    const status = broken ? 'failed' : asked.request.signal.aborted ? 'cancelled' : 'completed'
    const outcome: Outcome = { status, charge, seen, error: null, firstTokenMs: null }
    await close(outcome, asked.keep?.(body))
    return Response.json(body, { headers: answerHeaders(asked, journey) })
  } catch (error) {
    throw await failed(asked, close, error)
  }
}

/** A reply that broke off, for a client whose format cannot say so. */
function brokenReply({ attempts }: Journey, { candidate, reply }: Taken<WholeReply>): GatewayError {
  const failure = reply.seen.failure ?? unexpected('The provider ended its reply with an error.').failure
  return toClientError([...attempts, failedAttempt(candidate, failure)])
}

function bodyOf(asked: Asked, { translation, facts, reply, candidate }: Taken<WholeReply>, charge: Charge) {
  const bill = billOf(charge, candidate)
  const { dialect, passes } = translation
  if (passes && reply.body) return dialect.same.passReply(reply.body, facts, bill, charge.usage)
  return asked.format.writes.encodeReply({ ...collect(reply.events), usage: charge.usage }, facts, bill)
}

/** Settles a request that has no answer, and says what the client is told. */
async function failed(asked: Asked, close: Close, error: unknown): Promise<Error> {
  const gone = error instanceof ClientGoneError
  const told = gone ? fail('request_timeout', 'The client left.') : toldOf(error)
  const status = gone ? 'cancelled' : 'failed'
  // It is in the log; the client is told of the first error, not of the second.
  await close({ status, charge: nothingCharged, seen: null, error: told, firstTokenMs: null }).catch(
    () => undefined,
  )
  told.headers['x-generation-id'] = asked.id
  return told
}

function toldOf(error: unknown): GatewayError {
  return error instanceof GatewayError ? error : new GatewayError('internal', { cause: error })
}

/** Quick failures keep their status; once the client has waited long enough for a sign of life it is 200. */
async function streamed(gateway: Gateway, asked: Asked, admission: Admission): Promise<Response> {
  const journey = newJourney(asked.startedAt)
  const close = closing(gateway, asked, admission, journey)
  const opening = dispatchStream(gateway, asked, admission.plan, journey)
  const run = new StreamRun(gateway, asked, admission, journey, close)
  try {
    run.overdue = (await gateway.pulse.wait(opening, gateway.settings.limits.heartbeat)) === quiet
  } catch (error) {
    throw await failed(asked, close, error)
  }
  return new Response(streamedBody(gateway, asked, run, opening), {
    headers: { ...streamHeaders, ...answerHeaders(asked, journey) },
  })
}

const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

function answerHeaders(asked: Asked, { translation }: Journey): Record<string, string> {
  const dropped = translation?.request.dropped ?? []
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
