import { newReplySummary, type ReplySummary } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { logOf } from '../../platform/logging/request-log.ts'
import { usdFromNanos } from '../../platform/money/money.ts'
import { admit } from '../hold/admit.ts'
import { addNestedRequest } from '../hold/bill-line.ts'
import { releaseHold } from '../hold/request-hold.ts'
import type { Admitted, Routed } from '../request/inference-request.ts'
import { newGenerationId } from '../request/parse.ts'
import { RequestWork } from '../request/work.ts'
import type { Candidate } from '../routing/candidate.ts'
import { computeTurnCharge, settleOnce } from '../settle/settle.ts'

/** The reply of an attempt; null if it failed. */
export type Outcome<R> = { value: R } | null

/** An attempt that races with another one. */
export interface Contender<R> {
  state: Admitted
  candidate: Candidate
  cancel: AbortController
  outcome: Promise<Outcome<R>>
  startedAt: number
  hasEnded: boolean
  hasFailed: boolean
}

/** What the loser of a hedge is on the bill as. */
const purpose = 'hedge'

/**
 * Places a hold for the attempt that will lose, whichever of the two it is. It becomes a request of its own on behalf of
 * the other one, with a record, so that it is settled and recovered as any other.
 */
export function holdHedge(
  gateway: Gateway,
  request: Admitted,
  candidates: readonly Candidate[],
): Promise<Admitted> {
  const state: Routed = {
    ...request,
    id: newGenerationId(),
    plan: { ...request.plan, candidates: [...candidates] },
    hold: null,
    isNested: true,
    isRateCounted: true,
    outer: { id: request.id, purpose },
    logsContent: false,
    exportTargets: null,
    spans: null,
    hits: null,
    store: null,
    onSettled: [],
    settling: null,
  }
  return admit(gateway, state)
}

/** Releases the hold of a hedge without a loser: an attempt that has failed costs nothing. */
export async function releaseHedge(gateway: Gateway, held: Admitted): Promise<void> {
  await held.limits?.reservation?.release()
  await releaseHold(gateway, held, held.id).catch((err: unknown) =>
    logOf(gateway, held).warn({ err }, 'failed to release a hold'),
  )
}

interface HedgeEnd<R> {
  loser: Contender<R>
  served: Contender<R>
  held: Admitted
  abandon(value: R, isBilled: boolean): Promise<ReplySummary>
}

/**
 * Cancels the attempt that has lost and settles it. One that its provider bills anyway is read to its end meanwhile, so
 * that its cost is exact; of others it is an estimate.
 */
export async function settleLoser<R>(gateway: Gateway, request: Admitted, end: HedgeEnd<R>): Promise<void> {
  const { loser, served, held } = end
  const { candidate, state, startedAt } = loser
  const now = gateway.clock.now()
  gateway.routing.health.getOrCreate(candidate.id).recordSlowReply(now, performance.now() - startedAt)
  state.attempts.failed = []
  held.attempts = state.attempts
  request.work = served.state.work = new RequestWork([])
  request.work.stages.push({
    type: 'hedge',
    name: 'hedge',
    summary: `${served.candidate.endpoint.provider.name} replied before ${candidate.endpoint.provider.name}.`,
    data: { loser: candidate.endpoint.tag, generation_id: held.id },
  })
  if (!candidate.endpoint.provider.billsAbandoned || loser.hasEnded) return recordLoser(gateway, request, end)
  recordLoser(gateway, request, end).catch((err: unknown) =>
    logOf(gateway, held).warn({ err }, 'failed to settle a hedge'),
  )
}

async function recordLoser<R>(gateway: Gateway, request: Admitted, end: HedgeEnd<R>): Promise<void> {
  const { loser, held } = end
  const summary = await endLoser(gateway, end)
  held.attempts.span?.end('canceled')
  if (!summary) return releaseHedge(gateway, held)
  const { provider } = loser.candidate.endpoint
  const charge = computeTurnCharge(gateway, held, summary)
  const { usage, cost } = charge
  const { id } = held
  addNestedRequest(request, {
    ...{ id, purpose, provider: provider.slug, usage, cost, isCharged: true },
    startedAt: loser.startedAt,
  })
  const [stage] = request.work?.stages ?? []
  if (stage) stage.cost_usd = usdFromNanos(cost)
  await settleOnce(gateway, held, { status: 'cancelled', charge, summary, error: null, firstTokenMs: null })
}

/** What is known of the reply that lost; null if it failed after all. */
async function endLoser<R>(gateway: Gateway, { loser, abandon }: HedgeEnd<R>): Promise<ReplySummary | null> {
  const { outcome, cancel, candidate } = loser
  const isBilled = candidate.endpoint.provider.billsAbandoned === true
  let summary: ReplySummary | null | undefined
  if (isBilled || loser.hasEnded)
    await gateway.upstreams.drainLimiter.tryRun(async () => {
      const reply = await outcome.catch(() => null)
      summary = reply && (await abandon(reply.value, isBilled))
    })
  cancel.abort()
  // Canceled attempts reject.
  outcome.catch(() => undefined)
  if (summary === null) return null
  return summary?.isComplete ? summary : markCanceled(summary ?? newReplySummary())
}

/** A reply that the gateway has ended: the provider may bill its prompt, which is estimated where it was not reported. */
function markCanceled(summary: ReplySummary): ReplySummary {
  return { ...summary, finishReasons: [{ reason: 'cancelled', native: null }] }
}
