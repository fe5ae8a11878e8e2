import { estimatePromptTokens, type RequestSize } from '../../../formats/call/size.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { describeHit, mergeHits } from '../../../governance/guardrail-hits.ts'
import { assertRegionAllowed } from '../../../governance/policy/guard.ts'
import type { ResolvedRequest } from '../../../inference/any-format/resolved-request.ts'
import { describeDecision, describePipeline } from '../../../inference/explain/metadata.ts'
import { findBlock } from '../../../inference/guard/block.ts'
import { listModerationRules } from '../../../inference/guard/moderation-rules.ts'
import {
  buildHoldRequest,
  enforceRateLimit,
  estimateHold,
  worstCaseAt,
} from '../../../inference/hold/admit.ts'
import { resolveLimits } from '../../../inference/hold/declared-limits.ts'
import { limitError } from '../../../inference/hold/limit-error.ts'
import { estimateUse } from '../../../inference/hold/measured-use.ts'
import { assertRoutable, buildPlan } from '../../../inference/plan/plan.ts'
import type { RequestState, RoutingPlan } from '../../../inference/request/inference-request.ts'
import { assertNotRejected } from '../../../inference/request/routing-rules.ts'
import { explainDecision } from '../../../inference/routing/explain.ts'
import type { HoldRequest } from '../../../ledger/ledger-state.ts'
import { type AdmissionPreview, previewAdmission } from '../../../ledger/preview.ts'
import { GatewayError } from '../../../platform/errors/gateway-error.ts'
import { resolveRequestId } from '../../../platform/http/request-id.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'
import { describeModeration, describeRules, type GuardrailRule } from './guardrails.ts'
import { type LimitPreview, previewRates, toLimitPreviews } from './limits.ts'
import { computeExpectedPrice, estimateCompletionTokens, estimatePrice } from './price.ts'

/** A dry run of a request: routed and priced as if it were sent. */
export async function buildQuote(gateway: Gateway, received: ResolvedRequest) {
  const options = { ...received.request.options, wantsMetadata: true }
  const quoted = { ...received, request: { ...received.request, options } }
  const { request } = quoted
  await enforceRateLimit(gateway, request)
  // Without a random draw: the quote reports each endpoint's share instead.
  const routed = buildPlan(gateway, request, null)
  const { plan, hold, preview, rates, error } = await dryRunRequest(gateway, quoted, routed)
  return {
    ...explainPrices(gateway, quoted, plan, hold),
    ...describePipeline(request),
    limits: preview && hold ? [...toLimitPreviews(hold, preview), ...rates] : [],
    guardrails: [
      ...describeRules(request.keyContext.policy, plan.exclusions),
      ...listModeration(gateway, request),
    ],
    hits: mergeHits(request.hits ?? []).map(describeHit),
    would: error ? ('be_refused' as const) : ('be_sent' as const),
    refusal: error && encodeError(quoted, error),
  }
}

function listModeration(gateway: Gateway, request: RequestState): GuardrailRule[] {
  const rules = catchGatewayError(() => listModerationRules(gateway, request))
  return rules instanceof GatewayError ? [] : describeModeration(rules)
}

interface DryRun {
  plan: RoutingPlan
  /** Null if the request would be rejected before it reaches the ledger. */
  hold: HoldRequest | null
  preview: AdmissionPreview | null
  /** Declared limits that are not in the ledger. */
  rates: LimitPreview[]
  error: GatewayError | null
}

/** Runs the checks of a real request and reports the error it would get first. */
async function dryRunRequest(
  gateway: Gateway,
  quoted: ResolvedRequest,
  routed: RoutingPlan,
): Promise<DryRun> {
  const { request } = quoted
  const earlyError = captureError(() => {
    assertNotRejected(request)
    assertRegionAllowed(request.keyContext.policy, request.region)
    const block = findBlock(request.hits ?? [])
    if (block) throw block
    listModerationRules(gateway, request)
    assertRoutable(gateway, request, routed)
  })
  const nothing = { plan: routed, hold: null, preview: null, rates: [] }
  if (routed.candidates.length === 0) return { ...nothing, error: earlyError }
  const prepared = catchGatewayError(() => estimateHold(gateway, request, quoted.excludeUnfit(routed)))
  if (prepared instanceof GatewayError) return { ...nothing, error: earlyError ?? prepared }
  const { plan, size, estimate } = prepared
  request.limits = resolveLimits(request, plan)
  const hold = buildHoldRequest(request, { ...estimate, amount: estimate.amount + (quoted.fees ?? 0n) })
  const preview = await previewAdmission(gateway.db, hold)
  const rejectionError = preview.rejection && limitError(request, preview.rejection)
  const use = estimateUse(request.content.promptTokens, size, estimate)
  const rates = await previewRates(gateway, request, use)
  const rateError = rates.find(({ error }) => error)?.error
  const error = earlyError ?? rateError ?? rejectionError ?? findLossError(quoted, plan)
  return { plan, hold, preview, rates: rates.map(({ preview: rate }) => rate), error }
}

/** The error if every endpoint would drop a field and the client requires all of them. */
function findLossError({ translate }: ResolvedRequest, { candidates }: RoutingPlan): GatewayError | null {
  const losses = candidates.map((candidate) => captureError(() => translate(candidate)))
  return losses.every((loss) => loss !== null) ? (losses[0] ?? null) : null
}

function captureError(work: () => unknown): GatewayError | null {
  const result = catchGatewayError(work)
  return result instanceof GatewayError ? result : null
}

function catchGatewayError<T>(work: () => T): T | GatewayError {
  try {
    return work()
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

/** Encodes the error in the client's format. */
function encodeError({ request, encodeError }: ResolvedRequest, error: GatewayError) {
  error.userId = request.caller.userId
  return encodeError(error, resolveRequestId(request.httpRequest))
}

/** The worst case if every endpoint is called with a BYOK key. */
function computeWorstCaseAtProvider(
  gateway: Gateway,
  request: RequestState,
  size: RequestSize,
  { candidates }: RoutingPlan,
): bigint {
  const amounts = candidates.map((candidate) => worstCaseAt(gateway, size, candidate, request.at).byok)
  return amounts.reduce((max, amount) => (amount > max ? amount : max), 0n)
}

function explainPrices(
  gateway: Gateway,
  { request, fees = 0n }: ResolvedRequest,
  plan: RoutingPlan,
  hold: HoldRequest | null,
) {
  const { endpoints, ...explanation } = explainDecision(describeDecision(request, plan), null)
  const size = request.content.measure()
  const prices = plan.candidates.map((candidate) => estimatePrice(gateway, request, size, candidate))
  const available = endpoints.available.map(({ price, ...endpoint }, index) => ({
    ...endpoint,
    price: { ...(price ?? unknownPrice), ...(prices[index] ?? unknownEstimate) },
  }))
  return {
    ...explanation,
    endpoints: { ...endpoints, available },
    price: {
      worst_case: hold ? usdFromNanos(hold.amount) : null,
      worst_case_at_provider: hold
        ? usdFromNanos(computeWorstCaseAtProvider(gateway, request, size, plan))
        : null,
      expected: computeExpectedPrice(plan.candidates, prices, usdFromNanos(fees)),
      assumed: {
        prompt_tokens: estimatePromptTokens(request.content.call),
        completion_tokens: estimateCompletionTokens(size),
      },
    },
  }
}

const unknownPrice = { prompt: null, completion: null }
const unknownEstimate = { worst_case: null, expected: null }
