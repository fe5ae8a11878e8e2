import type { Gateway } from '../../gateway/gateway.ts'
import type { InferenceRequest, Routed, RoutingPlan } from '../request/inference-request.ts'
import type { Candidate } from '../routing/candidate.ts'
import type { Attempt } from './attempt.ts'
import type { UpstreamExchange } from './exchange.ts'
import { withFailover } from './failover.ts'
import { openEvents } from './reply-events.ts'
import { translateToSend } from './translate.ts'
import { Turn } from './turn.ts'

/** The request was ended while one of its turns was in progress. */
export class TurnAbortedError extends Error {}

/**
 * Sends a further turn of a request whose reply has begun: to the candidate of the last turn, and to the others if it
 * fails. `signal` ends the turn with its request.
 */
export function dispatchTurn(
  gateway: Gateway,
  turn: Routed<InferenceRequest>,
  signal: AbortSignal,
): Promise<Turn> {
  turn.plan = preferLast(turn.plan, turn.attempts.candidate)
  return withFailover(gateway, turn, {
    translate: translateToSend,
    execute: async (exchange, candidate, translation) => {
      if (signal.aborted) throw new TurnAbortedError()
      exchange.abortWith(signal)
      return openTurn(gateway, turn, exchange, { candidate, translation }).catch((error: unknown) => {
        throw signal.aborted ? new TurnAbortedError() : error
      })
    },
  })
}

function preferLast(plan: RoutingPlan, last: Candidate | null): RoutingPlan {
  const others = plan.candidates.filter((candidate) => candidate !== last)
  return { ...plan, candidates: last ? [last, ...others] : others }
}

async function openTurn(
  gateway: Gateway,
  request: InferenceRequest,
  exchange: UpstreamExchange,
  attempt: Pick<Attempt, 'candidate' | 'translation'>,
): Promise<Turn> {
  const { limits } = exchange
  const { stream } = request.content
  exchange.setTimeout(stream ? limits.first_byte : limits.whole_reply)
  const events = await openEvents(gateway, exchange, request, attempt)
  const turn = new Turn(gateway, request, exchange, attempt.candidate, events)
  await (stream ? turn.bufferUntilContent() : turn.bufferAll())
  if (attempt.candidate.endpoint.provider.billsAbandoned) exchange.outliveClient()
  return turn
}
