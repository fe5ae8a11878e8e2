import { computeRequestSize, type RequestSize } from '../../formats/call/size.ts'
import { tasks } from '../../formats/vocabulary.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Amounts } from '../../ledger/amounts.ts'
import { computeFee } from '../../ledger/charge.ts'
import type { Draft, UpstreamTarget } from '../../ledger/draft.ts'
import type { AdmitOperation } from '../../ledger/engine.ts'
import { freeRequestsPerMinute, resolveFreeRequestsPerDay } from '../../ledger/free-limits.ts'
import type { FreeLimit, HoldRequest, Limit, Rejection } from '../../ledger/ledger-state.ts'
import { computeWorstCaseCost } from '../../ledger/worst-case.ts'
import { minuteLimitError } from '../../platform/concurrency/rate-limiter.ts'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import { resolveRequestId } from '../../platform/http/request-id.ts'
import { utcDay, utcMinute } from '../../platform/time/time.ts'
import type { Admitted, PlacedHold, RequestState, Routed, RoutingPlan } from '../request/inference-request.ts'
import type { Candidate } from '../routing/candidate.ts'
import { pricingOf } from '../routing/endpoint-price.ts'
import type { Exclusion } from '../routing/prepare.ts'
import { type Admission, admitWithinLimits, hasRoomForFree } from './declared-limits.ts'
import { holdGraceMs } from './extension.ts'
import { limitError } from './limit-error.ts'
import { estimateUse, freeUse } from './measured-use.ts'
import { spendingOf } from './spending.ts'

export interface AdmitOptions {
  /** Settles the hold: this node, or a job. */
  owner?: string
  /** Worst-case cost of the steps of plugins and tools, besides the first turn; null if there are none. */
  steps?: Amounts | null
}

/**
 * Admits a request whose worst-case cost fits every limit, and places a hold of that amount. The hold is committed
 * against all limits at once before any provider is called.
 */
export async function admit<R extends RequestState>(
  gateway: Gateway,
  request: Routed<R>,
  options: AdmitOptions = {},
): Promise<Admitted<R>> {
  const counted = request.isRateCounted ? undefined : enforceRateLimit(gateway, request)
  if (counted) await counted
  if (request.keyContext.declaredLimits) {
    request.hold = await admitWithinLimits(gateway, request, () =>
      prepareAdmission(gateway, request, options),
    )
    return request as Admitted<R>
  }
  const { plan, size, estimate } = estimateHold(gateway, request, request.plan)
  request.plan = plan
  const placed = await placeHold(gateway, request, { ...options, size, estimate })
  if ('reason' in placed) throw limitError(request, placed)
  request.hold = placed
  return request as Admitted<R>
}

function prepareAdmission(gateway: Gateway, request: Routed, options: AdmitOptions): Admission {
  const { plan, size, estimate } = estimateHold(gateway, request, request.plan)
  request.plan = plan
  return {
    use: estimateUse(request.content.promptTokens, size, estimate),
    place: () => placeHold(gateway, request, { ...options, size, estimate }),
  }
}

type HoldEstimate = Pick<HoldRequest, 'amount' | 'byok' | 'free'>

/** The hold for a request, and its plan without the endpoints that a limit excludes for their unknown price. */
export function estimateHold(
  gateway: Gateway,
  request: RequestState,
  plan: RoutingPlan,
): { plan: RoutingPlan; size: RequestSize; estimate: HoldEstimate } {
  const pricedPlan = dropUnpriced(gateway, request, plan)
  const size = request.content.measure()
  const { amount, byok } = computeWorstCase(gateway, size, pricedPlan, request.at)
  return { plan: pricedPlan, size, estimate: { amount, byok, free: buildFreeLimit(request, pricedPlan) } }
}

/** Admits a token count or a cache hit: limits are checked, but nothing is held and no usage is counted. */
export async function admitFree<R extends RequestState>(
  gateway: Gateway,
  request: Routed<R>,
): Promise<Admitted<R>> {
  const counted = request.isRateCounted ? undefined : enforceRateLimit(gateway, request)
  if (counted) await counted
  const size = computeRequestSize(request.content.call, request.content.body, 0)
  const estimate = { amount: 0n, byok: 0n, free: null }
  const place = () => placeHold(gateway, request, { size, estimate })
  request.hold = await admitWithinLimits(gateway, request, () => ({ use: freeUse, place }))
  return request as Admitted<R>
}

/**
 * Counts a request before something is paid for its lookup; throws beyond the rate limit. False if the declared limits
 * leave no room for a hit: its admission will say why.
 */
export async function mayLookUp(gateway: Gateway, request: Routed): Promise<boolean> {
  const counted = request.isRateCounted ? undefined : enforceRateLimit(gateway, request)
  if (counted) await counted
  request.isRateCounted = true
  return !request.keyContext.declaredLimits || (await hasRoomForFree(gateway, request))
}

interface HoldTerms extends AdmitOptions {
  size: RequestSize
  estimate: HoldEstimate
}

async function placeHold(
  gateway: Gateway,
  request: Routed,
  { size, estimate, owner = gateway.node.id, steps = null }: HoldTerms,
): Promise<PlacedHold | Rejection> {
  const draft = buildDraft(gateway, request, size)
  const holdRequest = buildHoldRequest(request, estimate)
  const op: AdmitOperation = {
    op: 'admit',
    request: holdRequest,
    organizationId: request.caller.organizationId,
    owner,
    expiresAt: new Date(request.at + gateway.settings.limits.total + holdGraceMs).toISOString(),
    draft,
  }
  const { funds } = request
  const rejection = await (funds && steps
    ? funds.admitWithSteps(gateway, op, steps)
    : funds?.isInUse
      ? funds.admit(gateway, op)
      : gateway.ledger.admit(op))
  if (rejection) return rejection
  const { amount, byok, subjects, day, nearest = null } = holdRequest
  return {
    amounts: { amount, byok },
    funds: steps ? funds : null,
    nearest,
    meteredIn: { subjects, day },
    draft,
  }
}

export function buildHoldRequest(request: RequestState, { amount, byok, free }: HoldEstimate): HoldRequest {
  const { id, at } = request
  const { meterScopes, limits } = request.limits?.spending ?? request.keyContext
  const subjects = free ? [...new Set([...meterScopes, free.subject])] : meterScopes
  const hold: HoldRequest = { id, subjects, day: utcDay(at), limits, amount, byok, free }
  if (request.limits?.isConditional) hold.isConditional = true
  return hold
}

/** Throws beyond the limit. A promise only if the count is that of other nodes too. */
export function enforceRateLimit(gateway: Gateway, { caller, at }: RequestState): void | Promise<void> {
  const { requests_per_minute: limit } = gateway.settings.limits
  const isCounted = gateway.rateLimiter.tryConsume(`key ${caller.key.id}`, limit, at)
  if (isCounted instanceof Promise) return isCounted.then((result) => assertCounted(result, limit, at))
  assertCounted(isCounted, limit, at)
}

function assertCounted(isCounted: boolean, limit: number, at: number): void {
  if (!isCounted)
    throw minuteLimitError(`Rate limit reached: ${limit} requests per minute and key.`, limit, at)
}

/** Endpoints without a price are excluded if the key has a limit, which could not be enforced. */
function dropUnpriced(gateway: Gateway, request: RequestState, plan: RoutingPlan): RoutingPlan {
  let isUnpriced = false
  for (const { endpoint } of plan.candidates) isUnpriced ||= pricingOf(gateway, endpoint) === null
  const isRefused = gateway.settings.billing.unknown_price === 'refuse'
  return isUnpriced && (isRefused || hasSpendingLimit(spendingOf(request).limits))
    ? selectPriced(gateway, plan)
    : plan
}

function hasSpendingLimit(limits: readonly Limit[]): boolean {
  for (const { kind } of limits) if (kind !== 'credits') return true
  return false
}

function selectPriced(gateway: Gateway, plan: RoutingPlan): RoutingPlan {
  const isPriced = ({ endpoint }: Candidate) => pricingOf(gateway, endpoint) !== null
  const candidates = plan.candidates.filter(isPriced)
  if (candidates.length > 0)
    return { ...plan, candidates, exclusions: [...plan.exclusions, ...listUnpriced(plan, isPriced)] }
  throw gatewayError(
    'price_unknown',
    `The price of ${plan.candidates[0]?.model.id} is unknown, ${formatPriceRule(gateway)}. ` +
      'Ask the operator to set a price or `billing.unknown_price`.',
  )
}

function formatPriceRule({ settings }: Gateway): string {
  return settings.billing.unknown_price === 'refuse'
    ? 'and the operator refuses requests without a price'
    : 'and this key has a limit'
}

function listUnpriced({ candidates }: RoutingPlan, isPriced: (candidate: Candidate) => boolean): Exclusion[] {
  return candidates
    .filter((candidate) => !isPriced(candidate))
    .map(({ model, endpoint, byokKey }) => ({
      model,
      endpoint,
      byokKeyId: byokKey?.id ?? null,
      reason: 'price_unknown',
    }))
}

/**
 * The cost of the most expensive candidate. One candidate serves the request, so where BYOK usage counts too, the sum
 * is the maximum of the sums, not the sum of the maxima.
 */
function computeWorstCase(
  gateway: Gateway,
  size: RequestSize,
  { candidates }: RoutingPlan,
  at: number,
): Amounts {
  let fromCredits = 0n
  let withByok = 0n
  for (const candidate of candidates) {
    const { amount, byok } = worstCaseAt(gateway, size, candidate, at)
    if (amount > fromCredits) fromCredits = amount
    const sum = byok === 0n ? amount : amount + byok
    if (sum > withByok) withByok = sum
  }
  return { amount: fromCredits, byok: withByok - fromCredits }
}

/** The maximum cost at one endpoint, or at its default tier, which serves when the requested tier has no capacity. */
export function worstCaseAt(gateway: Gateway, size: RequestSize, candidate: Candidate, at: number): Amounts {
  const { model, endpoint, byokKey } = candidate
  const requestedTier = computeMaxCost(gateway, size, endpoint, at)
  const defaultTier =
    endpoint.service_tier === null
      ? requestedTier
      : computeMaxCost(gateway, size, findEndpointForTier(model, endpoint, null), at)
  const listPrice = requestedTier > defaultTier ? requestedTier : defaultTier
  return byokKey
    ? { amount: computeFee(listPrice, gateway.settings.billing.byok_fee), byok: listPrice }
    : { amount: listPrice, byok: 0n }
}

function computeMaxCost(
  gateway: Gateway,
  size: RequestSize,
  endpoint: Candidate['endpoint'],
  at: number,
): bigint {
  return (
    computeWorstCaseCost(size, endpoint, at) ??
    computeWorstCaseCost(size, withFallbackPrice(gateway, endpoint), at) ??
    0n
  )
}

/** The endpoint whose prices apply if a provider serves with another tier than requested. */
export function findEndpointForTier(
  { endpoints }: Candidate['model'],
  endpoint: Candidate['endpoint'],
  tier: Candidate['endpoint']['service_tier'],
): Candidate['endpoint'] {
  const isServing = ({ provider, upstream_model, service_tier }: Candidate['endpoint']) =>
    provider === endpoint.provider && upstream_model === endpoint.upstream_model && service_tier === tier
  return endpoints.find(isServing) ?? endpoint
}

function withFallbackPrice(gateway: Gateway, endpoint: Candidate['endpoint']) {
  return { ...endpoint, pricing: pricingOf(gateway, endpoint) }
}

function buildFreeLimit({ keyContext, at }: RequestState, { candidates }: RoutingPlan): FreeLimit | null {
  let isFree = false
  for (const { model } of candidates) isFree ||= model.id.endsWith(':free')
  if (!isFree) return null
  return {
    subject: keyContext.freeSubject,
    minute: utcMinute(at),
    perMinute: freeRequestsPerMinute,
    perDay: resolveFreeRequestsPerDay(keyContext.purchasedCredits),
  }
}

/** The requested name is unbounded: suffixes can be repeated. */
const maxModelLength = 256
const maxAgentLength = 256

function buildDraft(gateway: Gateway, request: Routed, size: RequestSize): Draft {
  const { caller, options, rule, content, httpRequest, plan } = request
  const [first] = plan.candidates
  if (!first) throw new Error('a plan has at least one candidate')
  const requested = rule?.requested ?? options.routed?.requested ?? options.requested ?? options.models[0]
  return {
    // The columns that are known on admission.
    generation: {
      id: request.id,
      organization_id: caller.organizationId,
      workspace_id: caller.key.workspace_id,
      key_id: caller.key.id,
      user_id: caller.userId,
      created_at: new Date(request.at).toISOString(),
      requested_model: (requested ?? '').slice(0, maxModelLength),
      dialect: request.format.name,
      streamed: content.stream ? 1 : 0,
      preset_id: request.presetId,
      session_id: options.sessionId,
      region: request.region,
      app_url: options.app.url,
      app_title: options.app.title,
      external_user: options.user,
      api_type: tasks[request.format.task].apiType,
      user_agent: httpRequest.headers.get('user-agent')?.slice(0, maxAgentLength) ?? null,
      request_id: resolveRequestId(httpRequest),
      input_images: size.images,
      tags: options.tags.length === 0 ? null : options.tags.join('\n'),
    },
    initialTarget: buildUpstreamTarget(gateway, first, ''),
    promptTokens: content.promptTokens,
    byokFee: gateway.settings.billing.byok_fee,
  }
}

export function buildUpstreamTarget(
  gateway: Gateway,
  { model, endpoint, byokKey }: Candidate,
  upstreamWireFormat: string,
): UpstreamTarget {
  return {
    model: model.id,
    provider: endpoint.provider.slug,
    endpoint: endpoint.tag,
    upstream_dialect: upstreamWireFormat,
    is_byok: byokKey ? 1 : 0,
    pricing: pricingOf(gateway, endpoint),
  }
}
