import type { Gateway } from '../../app/gateway.ts'
import { computeRequestSize, estimatePromptTokens, type RequestSize } from '../../call/size.ts'
import { type GatewayError, gatewayError, rateLimitError } from '../../errors/gateway-error.ts'
import type { ErrorCode } from '../../errors/table.ts'
import { computeFee } from '../../ledger/charge.ts'
import { type Draft, encodeDraft, type UpstreamTarget } from '../../ledger/draft.ts'
import { freeRequestsPerMinute, resolveFreeRequestsPerDay } from '../../ledger/free-limits.ts'
import type { Amounts, FreeLimit, HoldRequest, LimitKind, Rejection } from '../../ledger/ledger-state.ts'
import type { Window } from '../../ledger/meter.ts'
import { meterSubjects } from '../../ledger/meter-subjects.ts'
import { usdFromNanos } from '../../ledger/money.ts'
import { computeWorstCaseCost } from '../../ledger/worst-case.ts'
import { resolveRequestId } from '../../lib/request-id.ts'
import { utcDay, utcMinute } from '../../lib/time.ts'
import type { Candidate } from '../../routing/candidate.ts'
import type { Exclusion } from '../../routing/decide.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import type { RoutingPlan } from '../routing/plan.ts'

/** A request that was let in: where it may go, what is set aside for it, and what its record begins with. */
export interface Admission {
  plan: RoutingPlan
  hold: Amounts
  /** Where its charge counts. */
  meteredIn: Pick<HoldRequest, 'subjects' | 'day'>
  draft: Draft
}

/**
 * Lets a request in that fits into every limit even in the worst case, and sets aside what that would cost:
 * against all limits at once, and committed, before any provider is asked.
 */
export async function admit(
  gateway: Gateway,
  request: InferenceRequest,
  routed: RoutingPlan,
): Promise<Admission> {
  enforceRateLimit(gateway, request)
  const { plan, size, asking } = estimateHold(gateway, request, routed)
  return placeHold(gateway, request, plan, size, asking)
}

type HoldEstimate = Pick<HoldRequest, 'amount' | 'byok' | 'free'>

/** What must be set aside for a request, and for which endpoints that is enough. */
export function estimateHold(
  gateway: Gateway,
  request: InferenceRequest,
  routed: RoutingPlan,
): { plan: RoutingPlan; size: RequestSize; asking: HoldEstimate } {
  const plan = dropUnpriced(gateway, request, routed)
  const size = measureRequest(request)
  const hold = computeWorstCase(gateway, size, plan, request.at)
  return { plan, size, asking: { ...hold, free: buildFreeLimit(request, plan) } }
}

/** For what nobody charges for: it must be let in, but takes nothing and counts as nothing. */
export function admitFree(
  gateway: Gateway,
  request: InferenceRequest,
  plan: RoutingPlan,
): Promise<Admission> {
  enforceRateLimit(gateway, request)
  const size = computeRequestSize(request.content.call, request.content.body, 0)
  return placeHold(gateway, request, plan, size, { amount: 0n, byok: 0n, free: null })
}

async function placeHold(
  gateway: Gateway,
  request: InferenceRequest,
  plan: RoutingPlan,
  size: RequestSize,
  asking: HoldEstimate,
): Promise<Admission> {
  const draft = buildDraft(gateway, request, plan, size)
  const wish = buildHoldRequest(request, asking)
  const refusal = await gateway.ledger.admit({
    op: 'admit',
    request: wish,
    organizationId: request.caller.organizationId,
    owner: gateway.node.id,
    expiresAt: new Date(request.at + gateway.settings.limits.total + holdGraceMs).toISOString(),
    draft: encodeDraft(draft),
  })
  if (refusal) throw limitError(request, refusal)
  const { amount, byok, subjects: counted, day } = wish
  return { plan, hold: { amount, byok }, meteredIn: { subjects: counted, day }, draft }
}

/** Of the whole body, including what a preset or a stored conversation added. */
export function measureRequest({ content }: InferenceRequest): RequestSize {
  const { call, body, verbatim } = content
  const text = verbatim && body === verbatim.body ? verbatim.text : JSON.stringify(body)
  return computeRequestSize(call, body, Buffer.byteLength(text))
}

export function buildHoldRequest(request: InferenceRequest, asking: HoldEstimate): HoldRequest {
  const { meterScopes: meters, limits } = request.keyContext
  return { id: request.id, subjects: meters, day: utcDay(request.at), limits, ...asking }
}

export function enforceRateLimit({ rateLimiter, settings }: Gateway, { caller, at }: InferenceRequest): void {
  const { requests_per_minute } = settings.limits
  const message = `A key may send ${requests_per_minute} requests a minute.`
  rateLimiter.consume(`key ${caller.key.id}`, requests_per_minute, at, message)
}

/** Beyond the longest reply: reading on after a client left, and a database that is away. */
const holdGraceMs = 600_000

/** An endpoint whose price nobody knows cannot be used under a limit: nobody could say whether it is kept. */
function dropUnpriced(gateway: Gateway, { keyContext }: InferenceRequest, plan: RoutingPlan): RoutingPlan {
  const isLimited = keyContext.limits.some(({ kind }) => kind !== 'credits')
  if (!isLimited) return plan
  const isPriced = ({ endpoint }: Candidate) => pricingOf(gateway, endpoint) !== null
  const candidates = plan.candidates.filter(isPriced)
  if (candidates.length === plan.candidates.length) return plan
  if (candidates.length > 0)
    return { ...plan, candidates, exclusions: [...plan.exclusions, ...unpricedCandidates(plan, isPriced)] }
  throw gatewayError(
    'price_unknown',
    `The price of ${plan.candidates[0]?.model.id} is not known, and this key has a limit. ` +
      'Ask the operator for a price or for `billing.unknown_price`.',
  )
}

function unpricedCandidates(
  { candidates }: RoutingPlan,
  isPriced: (candidate: Candidate) => boolean,
): Exclusion[] {
  return candidates
    .filter((candidate) => !isPriced(candidate))
    .map(({ model, endpoint, byokKey }) => ({
      model,
      endpoint,
      byokKeyId: byokKey?.id ?? null,
      reason: 'price_unknown',
    }))
}

/** Where a price is unknown, the ceiling the operator gave, if there is one. */
export function pricingOf(gateway: Gateway, endpoint: Candidate['endpoint']) {
  return endpoint.pricing ?? gateway.settings.billing.unknown_price ?? null
}

/**
 * The dearest endpoint the plan may reach. It is one endpoint in the end: where spending with own keys counts too,
 * what is added is not the most of another one.
 */
function computeWorstCase(
  gateway: Gateway,
  size: RequestSize,
  { candidates }: RoutingPlan,
  at: number,
): Amounts {
  let fromCredits = 0n
  let together = 0n
  for (const candidate of candidates) {
    const { amount, byok } = worstCaseAt(gateway, size, candidate, at)
    if (amount > fromCredits) fromCredits = amount
    if (amount + byok > together) together = amount + byok
  }
  return { amount: fromCredits, byok: together - fromCredits }
}

/** The most a request can cost at one endpoint, or in the default lane where a lane has no room. */
export function worstCaseAt(gateway: Gateway, size: RequestSize, candidate: Candidate, at: number): Amounts {
  const { model, endpoint, byokKey } = candidate
  const request = maxCostAt(gateway, size, endpoint, at)
  const isLane = endpoint.service_tier !== null
  const otherwise = isLane ? maxCostAt(gateway, size, endpointForTier(model, endpoint, null), at) : request
  const list = request > otherwise ? request : otherwise
  return byokKey
    ? { amount: computeFee(list, gateway.settings.billing.byok_fee), byok: list }
    : { amount: list, byok: 0n }
}

function maxCostAt(gateway: Gateway, size: RequestSize, endpoint: Candidate['endpoint'], at: number): bigint {
  return (
    computeWorstCaseCost(size, endpoint, at) ??
    computeWorstCaseCost(size, withFallbackPrice(gateway, endpoint), at) ??
    0n
  )
}

/** The endpoint whose prices count when a provider serves in another lane than it was asked for. */
export function endpointForTier(
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

function buildFreeLimit(
  { caller, keyContext, at }: InferenceRequest,
  { candidates }: RoutingPlan,
): FreeLimit | null {
  if (!candidates.some(({ model }) => model.id.endsWith(':free'))) return null
  return {
    subject: meterSubjects.organization(caller.organizationId),
    minute: utcMinute(at),
    perMinute: freeRequestsPerMinute,
    perDay: resolveFreeRequestsPerDay(keyContext.purchasedCredits),
  }
}

/** Suffixes can be piled up without end. */
const maxModelLength = 256
const maxAgentLength = 256

function buildDraft(
  gateway: Gateway,
  request: InferenceRequest,
  { candidates }: RoutingPlan,
  size: RequestSize,
): Draft {
  const [first] = candidates
  if (!first) throw new Error('a plan has at least one candidate')
  return {
    generation: draftGeneration(request, size.images),
    initialTarget: buildUpstreamTarget(gateway, first, ''),
    promptTokens: estimatePromptTokens(request.content.call),
    byokFee: gateway.settings.billing.byok_fee,
  }
}

/** What of a generation is known before it begins. */
function draftGeneration(request: InferenceRequest, images: number): Draft['generation'] {
  const { caller, options, content, httpRequest } = request
  return {
    id: request.id,
    organization_id: caller.organizationId,
    workspace_id: caller.key.workspace_id,
    key_id: caller.key.id,
    user_id: caller.userId,
    created_at: new Date(request.at).toISOString(),
    requested_model: options.models[0]?.slice(0, maxModelLength) ?? '',
    dialect: request.format.name,
    streamed: content.call.stream ? 1 : 0,
    preset_id: request.presetId,
    session_id: options.sessionId,
    region: request.region,
    app_url: options.app.url,
    app_title: options.app.title,
    external_user: options.user,
    api_type: 'completions',
    user_agent: httpRequest.headers.get('user-agent')?.slice(0, maxAgentLength) ?? null,
    request_id: resolveRequestId(httpRequest),
    input_images: images,
  }
}

export function buildUpstreamTarget(
  gateway: Gateway,
  { model, endpoint, byokKey }: Candidate,
  upstreamDialect: string,
): UpstreamTarget {
  return {
    model: model.id,
    provider: endpoint.provider.slug,
    endpoint: endpoint.tag,
    upstream_dialect: upstreamDialect,
    is_byok: byokKey ? 1 : 0,
    pricing: pricingOf(gateway, endpoint),
  }
}

export const windowNames = {
  total: 'lifetime',
  day: 'daily',
  week: 'weekly',
  month: 'monthly',
} as const satisfies Record<Window, string>

const limitCodes = {
  credits: 'credits_exhausted',
  key: 'key_limit_reached',
  workspace: 'workspace_budget_reached',
  guardrail: 'guardrail_budget_reached',
} as const satisfies Record<LimitKind, ErrorCode>

const limitNames: Record<LimitKind, (window: string) => string> = {
  credits: () => 'the credits of the account',
  key: (window) => `the ${window} limit of this key`,
  workspace: (window) => `the ${window} budget of the workspace`,
  guardrail: (window) => `the ${window} budget of a guardrail`,
}

export function limitError({ at }: InferenceRequest, refusal: Rejection): GatewayError {
  if (refusal.reason === 'rate') return freeRateLimitError(refusal, at)
  const { kind, window, available, needed } = refusal
  const name = limitNames[kind](windowNames[window])
  const message =
    available === 0n
      ? `Nothing is left of ${name}.`
      : `This request may cost up to $${formatUsd(needed)}, and $${formatUsd(available)} is left of ${name}. ` +
        'Lower max_tokens or shorten the prompt.'
  return gatewayError(limitCodes[kind], message, {
    limit: kind,
    interval: windowNames[window],
    remaining: usdFromNanos(available),
    needed: usdFromNanos(needed),
  })
}

/** Without the exponent that very small numbers print with. */
function formatUsd(nanos: bigint): string {
  const digits = nanos.toString().padStart(10, '0')
  return `${digits.slice(0, -9)}.${digits.slice(-9)}`.replace(/\.?0+$/, '')
}

const minuteMs = 60_000
const dayMs = 86_400_000

function freeRateLimitError(
  { per, limit }: Extract<Rejection, { reason: 'rate' }>,
  at: number,
): GatewayError {
  const windowMs = per === 'minute' ? minuteMs : dayMs
  return rateLimitError(`Free variants may be asked ${limit} times a ${per}.`, limit, windowMs, at)
}
