import type { Gateway } from '../../gateway/gateway.ts'
import type { RoutingPlan } from '../plan/plan.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import type { Candidate } from '../routing/candidate.ts'
import type { RequestTrace } from '../settle/trace.ts'
import type { UpstreamExchange } from './exchange.ts'
import { withFailover } from './failover.ts'
import { openEvents } from './reply-events.ts'
import { type Translation, translate } from './translate.ts'
import { Turn } from './turn.ts'

/** The request was ended while one of its turns was in progress. */
export class TurnAbortedError extends Error {}

/**
 * Sends a further turn of a request whose reply has begun: to the candidate of the last turn, and to the others if it
 * fails. `signal` ends the turn with its request.
 */
export function dispatchTurn(
  gateway: Gateway,
  request: InferenceRequest,
  plan: RoutingPlan,
  trace: RequestTrace,
  signal: AbortSignal,
): Promise<Turn> {
  return withFailover(gateway, request, preferLast(plan, trace), trace, {
    translate: (candidate) => translate(gateway, request, candidate),
    execute: (exchange, candidate, translation) =>
      openTurn(gateway, request, { candidate, translation }, exchange, signal),
  })
}

function preferLast(plan: RoutingPlan, { candidate: last }: RequestTrace): RoutingPlan {
  const others = plan.candidates.filter((candidate) => candidate !== last)
  return { ...plan, candidates: last ? [last, ...others] : others }
}

async function openTurn(
  gateway: Gateway,
  request: InferenceRequest,
  attempt: { candidate: Candidate; translation: Translation },
  exchange: UpstreamExchange,
  signal: AbortSignal,
): Promise<Turn> {
  if (signal.aborted) throw new TurnAbortedError()
  exchange.abortWith(signal)
  const { limits } = gateway.settings
  const { stream } = request.content
  exchange.setTimeout(stream ? limits.first_byte : limits.whole_reply)
  try {
    const turn = new Turn(
      gateway,
      exchange,
      attempt.candidate,
      await openEvents(gateway, exchange, request, attempt),
    )
    await (stream ? turn.bufferUntilContent() : turn.bufferAll())
    if (attempt.candidate.endpoint.provider.billsAbandoned) exchange.outliveClient()
    return turn
  } catch (error) {
    throw signal.aborted ? new TurnAbortedError() : error
  }
}
