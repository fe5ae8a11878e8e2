import type { Endpoint } from '../../catalog/model.ts'
import type { UsageCost } from '../../formats/call/usage.ts'
import type { ServedTier } from '../../formats/vocabulary.ts'
import { newReplySummary, type ReplySummary } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { noTags } from '../../governance/tags/tag.ts'
import type { BillLine } from '../../ledger/bill.ts'
import {
  addCharges,
  type BillableReply,
  type Charge,
  minAmount,
  priceReply,
  zeroCharge,
} from '../../ledger/charge.ts'
import type { Checkpoint } from '../../ledger/draft.ts'
import type { Settlement } from '../../ledger/engine.ts'
import { buildSettlement, createRelease, type SettledGeneration } from '../../ledger/settlement.ts'
import type { Statement } from '../../platform/db/batch.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import { logOf } from '../../platform/logging/request-log.ts'
import { usdFromNanos } from '../../platform/money/money.ts'
import { withSpan } from '../../platform/tracing/span-recorder.ts'
import { buildHitStatements, completeHits } from '../guard/hits.ts'
import { buildUpstreamTarget, findEndpointForTier } from '../hold/admit.ts'
import { listUncharged, settleLimits } from '../hold/declared-limits.ts'
import { remainingHold } from '../hold/extend-hold.ts'
import { encodeNearestLimit, encodeNearestOf } from '../hold/nearest-limit.ts'
import { releaseExtensions } from '../hold/request-hold.ts'
import { recordPlan } from '../plan/recorded-plan.ts'
import { settleRates } from '../rates/settle-rates.ts'
import type { Outcome } from '../request/attempts.ts'
import type { Admitted, RequestState, SettledReply } from '../request/inference-request.ts'
import type { RequestOptions } from '../request/options.ts'
import type { RequestWork } from '../request/work.ts'
import type { Candidate } from '../routing/candidate.ts'
import { pricingOf } from '../routing/endpoint-price.ts'
import { encodeAllAttempts, encodeAttempts } from './attempts.ts'
import { buildLines, recordLateLines } from './lines.ts'
import { recordOutcome } from './observe.ts'
import { buildRecordStatements } from './records.ts'
import { markRecorded, rejectRequest } from './reject.ts'
import { recordReply } from './reply-span.ts'

/** The usage and cost of a request, computed before the end of its reply is sent to the client. */
export function computeCharge(
  gateway: Gateway,
  request: Admitted,
  summary: ReplySummary,
  isInterrupted = false,
): Charge {
  const earlier = request.work?.bill.close()
  if (earlier && summary.isBetweenTurns) return earlier
  const turn = computeTurnCharge(gateway, request, summary, isInterrupted)
  const charge = earlier ? addCharges(earlier, turn) : turn
  if (charge.cacheSavings !== undefined) request.attempts.cacheSavings = charge.cacheSavings
  return charge
}

/** The usage and cost of the reply in progress, without what is on the bill already. */
export function computeTurnCharge(
  gateway: Gateway,
  request: Admitted,
  summary: ReplySummary,
  isInterrupted = false,
): Charge {
  const { hold, attempts } = request
  const { draft } = hold
  const { candidate } = attempts
  if (!candidate) return zeroCharge
  const endpoint = resolveServingEndpoint(candidate, summary)
  const reply = buildBillableReply(summary, isInterrupted)
  // The cost reported by the provider is more exact than the price for unknown models.
  const hasReportedCost = endpoint.pricing === null && reply.usage?.reportedCost != null
  return priceReply(reply, {
    pricing: hasReportedCost ? null : pricingOf(gateway, endpoint),
    at: request.at,
    isByok: candidate.byokKey !== null,
    byokFee: draft.byokFee,
    hold: request.work ? remainingHold(request) : (hold.funds?.held ?? hold.amounts),
    promptEstimate: () => draft.promptTokens,
    inputImages: draft.generation.input_images,
  })
}

/** The tier a reply was served with: as reported by the upstream, or as requested; null if unknown. */
export function tierOf({ endpoint }: Candidate, summary: ReplySummary | null): ServedTier | null {
  return summary?.tier ?? endpoint.service_tier
}

/** The endpoint whose prices apply: a provider may serve with another tier than requested. */
function resolveServingEndpoint(candidate: Candidate, summary: ReplySummary): Endpoint {
  const { model, endpoint } = candidate
  const served = tierOf(candidate, summary)
  const tier = served === 'default' ? null : served
  return tier === endpoint.service_tier ? endpoint : findEndpointForTier(model, endpoint, tier)
}

/** The parts of a reply that its charge depends on. An interrupted reply ends with an error for the client. */
function buildBillableReply(summary: ReplySummary, isInterrupted = false): BillableReply {
  const reply: BillableReply = {
    usage: summary.usage,
    complete: summary.isComplete,
    characters: summary.characters,
    finished: summary.finishReasons.length > 0,
    failed: isInterrupted || endedWithError(summary),
  }
  if (summary.units.length > 0) reply.units = summary.units
  return reply
}

export function endedWithError(summary: ReplySummary): boolean {
  for (const finish of summary.finishReasons) if (finish?.reason === 'error') return true
  return false
}

export function buildCost(
  { cost, listPrice, byok }: Charge,
  candidate: Candidate | null,
  work: RequestWork | null = null,
): UsageCost {
  const isByok = candidate?.byokKey != null
  const fees = work?.bill.fees ?? 0n
  const nested = work?.bill.nested ?? 0n
  const total = isByok ? byok : cost - fees
  // A charge may be capped at its hold; then its parts must not exceed it.
  const isCapped = total < listPrice.total
  const prompt = isCapped ? minAmount(listPrice.prompt, total) : listPrice.prompt
  const completion = isCapped ? minAmount(listPrice.completion, total - prompt) : listPrice.completion
  return {
    total: usdFromNanos(cost + nested),
    isByok,
    ...(work && { serverTools: { cost: usdFromNanos(fees + nested), ...work.toolCalls } }),
    upstream: usdFromNanos(total),
    upstreamPrompt: usdFromNanos(prompt),
    upstreamCompletion: usdFromNanos(completion),
  }
}

/** The progress of a request, from which it is settled if this process crashes. Null without a candidate. */
export function buildCheckpoint(gateway: Gateway, request: Admitted, summary: ReplySummary): string | null {
  const { attempts } = request
  // A plugin may cost something before the request is sent to the first candidate.
  const candidate = attempts.candidate ?? request.plan.candidates[0]
  if (!candidate) return null
  const checkpoint: Checkpoint = {
    place: {
      ...buildUpstreamTarget(gateway, candidate, attempts.translation?.wireFormat.name ?? ''),
      pricing: pricingOf(gateway, resolveServingEndpoint(candidate, summary)),
    },
    reply: buildBillableReply(summary),
    tier: tierOf(candidate, summary),
    firstTokenMs: attempts.firstTokenMs === null ? null : Math.round(attempts.firstTokenMs),
    attempts: encodeAttempts(request),
    ...(request.work && { bill: request.work.bill.encode(remainingHold(request)) }),
    ...(request.outer && { outer: request.outer }),
  }
  return JSON.stringify(checkpoint)
}

/** Stores what a request has cost so far, before its tools and before the next turn. */
export async function writeTurnCheckpoint(gateway: Gateway, request: Admitted): Promise<void> {
  const checkpoint = buildCheckpoint(gateway, request, newReplySummary())
  if (checkpoint !== null) await gateway.ledger.writeCheckpoint(request.id, checkpoint)
}

const noStatements: readonly Statement[] = []
const noLines: readonly BillLine[] = []

/** Settles a request. The first call counts; later ones await it and change nothing. */
export function settleOnce(
  gateway: Gateway,
  request: Admitted,
  outcome: Outcome,
  extraStatements: readonly Statement[] = noStatements,
): Promise<void> {
  request.settling ??= withSpan(request, 'settle', settleRequest, gateway, request, outcome, extraStatements)
  return request.settling
}

async function settleRequest(
  gateway: Gateway,
  request: Admitted,
  outcome: Outcome,
  extraStatements: readonly Statement[],
): Promise<void> {
  gateway.metrics.models.record(request, outcome)
  recordOutcome(gateway, request, outcome)
  if (request.spans) recordReply(request, request.spans, outcome)
  if (request.completeHits) await completeHits(gateway, request)
  const { attempts, plan, work } = request
  const { charge, error } = outcome
  // A plugin may cost something before the request is sent to the first candidate.
  const candidate = attempts.candidate ?? (charge.cost > 0n ? (plan.candidates[0] ?? null) : null)
  const lines = candidate && work ? buildLines(request, work, candidate, charge) : noLines
  if (candidate) work?.bill.markRecorded()
  else request.funds?.passLines()
  const counting = request.limits && settleLimits(request, candidate, charge)
  const rating = attempts.room && settleRates(attempts.room, request, charge)
  const settlement = candidate
    ? createSettlement(gateway, request, { candidate, outcome, lines, extraStatements })
    : releaseRequest(gateway, request, error)
  try {
    await settle(gateway, settlement, request)
  } finally {
    if (request.hold.funds) await request.hold.funds.close(gateway)
    if (counting) await counting
    if (rating) await rating
    if (request.hold.extensions) await releaseExtensions(gateway, request, request.hold.extensions)
  }
  if (candidate && work) recordLateLines(gateway, request, work, lines.length)
  if (request.onSettled.length > 0) notifySettled(request, outcome)
}

function notifySettled(
  { work, onSettled, attempts: { candidate, translation } }: RequestState,
  { status, summary, charge, error, firstTokenMs }: Outcome,
): void {
  const upstreamWireFormat = translation?.wireFormat.name ?? ''
  const dropped = translation?.upstreamRequest.dropped ?? []
  const cost = charge.cost + (work?.bill.nested ?? 0n)
  const settled: SettledReply = {
    ...{ status, summary, candidate, upstreamWireFormat, dropped, cost },
    ...{ charge, error, firstTokenMs },
  }
  for (const notify of onSettled) notify(settled)
}

/** Resolves when the settlement is durable. */
export async function settle(gateway: Gateway, settlement: Settlement, request: RequestState): Promise<void> {
  try {
    await gateway.ledger.settle(settlement)
    if (request.exportTargets) gateway.delivery.signal.wake()
  } catch (cause) {
    logOf(gateway, request).error({ err: cause }, 'settlement failed')
    throw cause instanceof GatewayError ? cause : new GatewayError('unavailable', { cause })
  }
}

/** A request that reached no provider and used nothing else has nothing to account for. */
function releaseRequest(gateway: Gateway, request: Admitted, error: GatewayError | null): Settlement {
  rejectRequest(gateway, request, error)
  return {
    ...createRelease(request.id, request.caller.organizationId),
    extraStatements: buildHitStatements(gateway, request, null),
  }
}

/** The facts that a settlement is created from, besides the request. */
interface SettlementSource {
  candidate: Candidate
  outcome: Outcome
  lines: readonly BillLine[]
  extraStatements: readonly Statement[]
}

function createSettlement(
  gateway: Gateway,
  request: Admitted,
  { candidate, outcome, lines, extraStatements }: SettlementSource,
): Settlement {
  const { startedAt, hold, attempts } = request
  const { nearest, draft, meteredIn } = hold
  const { translation, lastStartedAt } = attempts
  const { status, charge, summary, error, firstTokenMs } = outcome
  if (error) markRecorded(request)
  if (charge.flag || charge.usage.reportedCost !== null)
    gateway.metrics.recordCharge(candidate.endpoint.provider.slug, charge)
  const { finish_reason, native_finish_reason } = toFinishColumns(summary?.finishReasons[0])
  const settled: SettledGeneration = {
    draft: draft.generation,
    target: buildUpstreamTarget(gateway, candidate, translation?.wireFormat.name ?? ''),
    charge,
    end: {
      status,
      error_code: error?.code ?? null,
      finish_reason,
      native_finish_reason,
      hold_nanos: (hold.funds?.held ?? hold.amounts).amount,
      latency_ms: Math.round(performance.now() - startedAt),
      first_token_ms: firstTokenMs === null ? null : Math.round(firstTokenMs),
      attempts:
        attempts.failed.length > 0 || error || summary?.failure ? encodeAllAttempts(request, outcome) : '[]',
      dispatch_ms: Math.round(lastStartedAt - startedAt),
      routing_plan_id: recordPlan(gateway, request, request.plan),
      nearest_limit: request.limits?.reservation
        ? encodeNearestOf(nearest, request.limits.reservation.counted)
        : nearest && encodeNearestLimit(nearest),
      queued_ms: attempts.queue?.waitedMs ? Math.round(attempts.queue.waitedMs) : null,
      dropped: encodeDropped(translation?.upstreamRequest.dropped, summary?.losses, request.options),
      service_tier: tierOf(candidate, summary),
      cache_breakpoints: translation?.cacheBreakpoints ?? 0,
    },
  }
  const records = buildRecordStatements(gateway, request, settled, { error, summary, candidate, lines })
  const statements = extraStatements.length > 0 ? [...extraStatements, ...records] : records
  const uncharged = request.limits ? listUncharged(request.limits, candidate) : undefined
  return {
    ...buildSettlement(settled, meteredIn, statements, uncharged),
    isShared: extraStatements.length > 0,
  }
}

const maxNativeReasonLength = 100

export function toFinishColumns(finish: ReplySummary['finishReasons'][number] | null | undefined) {
  return {
    finish_reason: finish?.reason ?? null,
    // PostgreSQL has no text with a NUL.
    native_finish_reason: finish?.native?.slice(0, maxNativeReasonLength).replaceAll('\0', '') ?? null,
  }
}

/** Joins the fields that the translation of the request dropped, and the features that that of the reply dropped. */
export function encodeDropped(
  ofRequest: string[] = [],
  ofReply: string[] = [],
  { droppedTags }: Pick<RequestOptions, 'droppedTags'> = { droppedTags: noTags },
): string | null {
  const count = ofRequest.length + ofReply.length + droppedTags.length
  return count === 0 ? null : JSON.stringify([...ofRequest, ...ofReply, ...droppedTags])
}
