import type { Endpoint } from '../../catalog/model.ts'
import { subtractUsage, type UsageCost } from '../../formats/call/usage.ts'
import type { ServedTier } from '../../formats/vocabulary.ts'
import { newReplySummary, type ReplySummary } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { BillLine } from '../../ledger/bill.ts'
import { insertLine } from '../../ledger/bill-lines.ts'
import { addCharges, type BillableReply, type Charge, minAmount, priceReply } from '../../ledger/charge.ts'
import type { Checkpoint } from '../../ledger/draft.ts'
import type { Settlement } from '../../ledger/engine.ts'
import { encodeNearestLimit } from '../../ledger/nearest-limit.ts'
import { buildSettlement, createRelease, type SettledGeneration } from '../../ledger/settlement.ts'
import type { Statement } from '../../platform/db/batch.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import { usdFromNanos } from '../../platform/money/money.ts'
import { withSpan } from '../../platform/tracing/span-recorder.ts'
import { buildHitStatements, completeHits } from '../guard/hits.ts'
import { type Admission, buildUpstreamTarget, findEndpointForTier, pricingOf } from '../hold/admit.ts'
import { remainingHold, totalHold } from '../hold/extend-hold.ts'
import type { RoutingPlan } from '../plan/plan.ts'
import { recordPlan } from '../plan/recorded-plan.ts'
import type { ModelRequest } from '../request/inference-request.ts'
import type { RequestWork } from '../request/work.ts'
import type { Candidate } from '../routing/candidate.ts'
import { encodeAllAttempts, encodeAttempts } from './attempts.ts'
import { encodeDropped, toFinishColumns } from './end-columns.ts'
import { recordOutcome } from './observe.ts'
import { buildRecordStatements } from './records.ts'
import { markRecorded, rejectRequest } from './reject.ts'
import { recordReply } from './reply-span.ts'
import type { Outcome, RequestTrace } from './trace.ts'

/** The usage and cost of a request, computed before the end of its reply is sent to the client. */
export function computeCharge(
  gateway: Gateway,
  request: ModelRequest,
  admission: Admission,
  candidate: Candidate,
  summary: ReplySummary,
  isInterrupted = false,
): Charge {
  const earlier = request.work?.bill.close()
  if (earlier && summary.isBetweenTurns) return earlier
  const charge = computeTurnCharge(gateway, request, admission, candidate, summary, isInterrupted)
  return earlier ? addCharges(earlier, charge) : charge
}

/** The usage and cost of the reply in progress, without what is on the bill already. */
export function computeTurnCharge(
  gateway: Gateway,
  request: ModelRequest,
  admission: Admission,
  candidate: Candidate,
  summary: ReplySummary,
  isInterrupted = false,
): Charge {
  const { draft } = admission
  const endpoint = resolveServingEndpoint(candidate, summary)
  const reply = buildBillableReply(summary, isInterrupted)
  // The cost reported by the provider is more exact than the price for unknown models.
  const hasReportedCost = endpoint.pricing === null && reply.usage?.reportedCost != null
  return priceReply(reply, {
    pricing: hasReportedCost ? null : pricingOf(gateway, endpoint),
    at: request.at,
    isByok: candidate.byokKey !== null,
    byokFee: draft.byokFee,
    hold: remainingHold(request, admission),
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
  return summary.finishReasons.some((finish) => finish?.reason === 'error')
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
export function buildCheckpoint(
  gateway: Gateway,
  request: ModelRequest,
  admission: Admission,
  trace: RequestTrace,
  summary: ReplySummary,
): string | null {
  // A plugin may cost something before the request is sent to the first candidate.
  const candidate = trace.candidate ?? trace.plan.candidates[0]
  if (!candidate) return null
  const checkpoint: Checkpoint = {
    place: {
      ...buildUpstreamTarget(gateway, candidate, trace.translation?.wireFormat.name ?? ''),
      pricing: pricingOf(gateway, resolveServingEndpoint(candidate, summary)),
    },
    reply: buildBillableReply(summary),
    tier: tierOf(candidate, summary),
    firstTokenMs: trace.firstTokenMs === null ? null : Math.round(trace.firstTokenMs),
    attempts: encodeAttempts(request, trace),
    ...(request.work && { bill: request.work.bill.encode(remainingHold(request, admission)) }),
    ...(request.outer && { outer: request.outer }),
  }
  return JSON.stringify(checkpoint)
}

/** Stores what a request has cost so far, before its tools and before the next turn. */
export async function writeTurnCheckpoint(
  gateway: Gateway,
  request: ModelRequest,
  admission: Admission,
  trace: RequestTrace,
): Promise<void> {
  const checkpoint = buildCheckpoint(gateway, request, admission, trace, newReplySummary())
  if (checkpoint !== null) await gateway.ledger.writeCheckpoint(request.id, checkpoint)
}

/** Settles a request. The first call counts; later ones await it and change nothing. */
export type SettleFn = (outcome: Outcome, extraStatements?: readonly Statement[]) => Promise<void>

export function settleOnce(
  gateway: Gateway,
  request: ModelRequest,
  admission: Admission,
  trace: RequestTrace,
): SettleFn {
  let settling: Promise<void> | undefined
  return (outcome, extraStatements = noStatements) => {
    const settledBy = { trace, outcome, extraStatements }
    settling ??= withSpan(request, 'settle', settleRequest, gateway, request, admission, settledBy)
    return settling
  }
}

const noStatements: readonly Statement[] = []
const noLines: readonly BillLine[] = []

async function settleRequest(
  gateway: Gateway,
  request: ModelRequest,
  admission: Admission,
  { trace, outcome, extraStatements }: Pick<SettlementSource, 'trace' | 'outcome' | 'extraStatements'>,
): Promise<void> {
  admission.isSettled = true
  recordOutcome(gateway, request, trace, outcome)
  if (request.spans) recordReply(request, request.spans, trace, outcome)
  if (request.completeHits) await completeHits(gateway, request)
  const { charge, error } = outcome
  // A plugin may cost something before the request is sent to the first candidate.
  const candidate = trace.candidate ?? (charge.cost > 0n ? (trace.plan.candidates[0] ?? null) : null)
  const { work } = request
  const lines = candidate && work ? buildLines(work, candidate, charge, trace) : noLines
  if (candidate) work?.bill.markRecorded()
  else request.funds?.passLines()
  const settlement = candidate
    ? createSettlement(gateway, request, admission, { trace, candidate, outcome, lines, extraStatements })
    : releaseRequest(gateway, request, admission, trace.plan, error)
  try {
    await settle(gateway, settlement, request)
  } finally {
    if (admission.funds) await admission.funds.close(gateway)
  }
  if (candidate && work) recordLateLines(gateway, request.id, work, lines.length)
  if (request.onSettled.length > 0) notifySettled(request, trace, outcome)
}

function notifySettled(
  { work, onSettled }: ModelRequest,
  { candidate, translation }: RequestTrace,
  { status, summary, charge }: Outcome,
): void {
  const upstreamWireFormat = translation?.wireFormat.name ?? ''
  const dropped = translation?.upstreamRequest.dropped ?? []
  const cost = charge.cost + (work?.bill.nested ?? 0n)
  for (const notify of onSettled) notify({ status, summary, candidate, upstreamWireFormat, dropped, cost })
}

/** Resolves when the settlement is durable. */
export async function settle(
  gateway: Gateway,
  settlement: Settlement,
  { id, exportTargets }: ModelRequest,
): Promise<void> {
  try {
    await gateway.ledger.settle(settlement)
    if (exportTargets) gateway.deliverySignal.wake()
  } catch (cause) {
    gateway.log.error({ err: cause, id }, 'settlement failed')
    throw cause instanceof GatewayError ? cause : new GatewayError('unavailable', { cause })
  }
}

/** A request that reached no provider and used nothing else has nothing to account for. */
function releaseRequest(
  gateway: Gateway,
  request: ModelRequest,
  { draft }: Admission,
  plan: RoutingPlan,
  error: GatewayError | null,
): Settlement {
  rejectRequest(gateway, request, plan, error)
  const { id, organization_id } = draft.generation
  return {
    ...createRelease(id, organization_id),
    extraStatements: buildHitStatements(gateway, request, null),
  }
}

/** What a settlement is created from, besides the request. */
interface SettlementSource {
  trace: RequestTrace
  candidate: Candidate
  outcome: Outcome
  lines: readonly BillLine[]
  extraStatements: readonly Statement[]
}

function createSettlement(
  gateway: Gateway,
  request: ModelRequest,
  admission: Admission,
  { trace, candidate, outcome, lines, extraStatements }: SettlementSource,
): Settlement {
  const { nearest, draft, meteredIn } = admission
  const { translation, attempts, startedAt, attemptStartedAt, transcript, plan } = trace
  const { status, charge, summary, error, firstTokenMs } = outcome
  if (error) markRecorded(request)
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
      hold_nanos: totalHold(admission).amount,
      latency_ms: Math.round(performance.now() - startedAt),
      first_token_ms: firstTokenMs === null ? null : Math.round(firstTokenMs),
      attempts: encodeAllAttempts(request, trace, outcome),
      dispatch_ms: Math.round(attemptStartedAt - startedAt),
      routing_plan_id: recordPlan(gateway, request, plan),
      nearest_limit: nearest && encodeNearestLimit(nearest),
      dropped: encodeDropped(listDropped(translation, summary)),
      service_tier: tierOf(candidate, summary),
    },
  }
  const source = { transcript, error, attempts, summary, candidate, lines }
  const records = buildRecordStatements(gateway, request, settled, source)
  const statements = extraStatements.length > 0 ? [...extraStatements, ...records] : records
  return buildSettlement(settled, meteredIn, statements)
}

/** What the translation of the request dropped, and what that of the reply did. */
function listDropped(translation: RequestTrace['translation'], summary: ReplySummary | null): string[] {
  const dropped = translation?.upstreamRequest.dropped ?? []
  return summary && summary.losses.length > 0 ? [...dropped, ...summary.losses] : dropped
}

/** Requests on behalf of this one may end after it, if its client has disconnected. */
function recordLateLines(gateway: Gateway, id: string, work: RequestWork, count: number): void {
  let position = count
  work.bill.takeLate((line) => {
    const writing = insertLine(gateway.db, id, position++, line)
    writing.catch((err: unknown) => gateway.log.warn({ err, id }, 'failed to record a line of a bill'))
  })
}

/** The reply that ended with the request is its last turn. */
function buildLines(
  work: RequestWork,
  { model, endpoint }: Candidate,
  charge: Charge,
  { attemptStartedAt }: RequestTrace,
): readonly BillLine[] {
  if (work.bill.lines.length === 0) return noLines
  const { lines, charge: earlier } = work.bill
  if (charge === earlier) return lines
  const last: BillLine = {
    kind: 'turn',
    name: model.id,
    provider: endpoint.provider.slug,
    quantity: 1,
    usage: subtractUsage(charge.usage, earlier.usage),
    cost: charge.cost - earlier.cost,
    durationMs: performance.now() - attemptStartedAt,
    nestedId: null,
  }
  return [...lines, last]
}
