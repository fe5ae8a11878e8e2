import { healthIdOf } from '../../catalog/health/health-id.ts'
import type { ResolvedModel } from '../../catalog/lookup.ts'
import type { Endpoint, Model } from '../../catalog/model.ts'
import { estimatePerMillion } from '../../catalog/price.ts'
import type { RouterStrategy } from '../../catalog/router-models.ts'
import type { SplitChoice } from '../../catalog/split.ts'
import type { DataRegion } from '../../formats/vocabulary.ts'
import type { Candidate } from './candidate.ts'
import type { RoutingDecision } from './decide.ts'
import type { ExclusionReason } from './filter.ts'
import type { RoutingState } from './rank.ts'
import { describeExclusion, rankingReasonTexts } from './reason-texts.ts'

/** The health of an endpoint when the decision was made. */
export interface EndpointSnapshot {
  /** Medians of the last five minutes: milliseconds to the first token, tokens a second. */
  latency: number | null
  throughput: number | null
  /** The percentage over the last 30 minutes. */
  uptime: number | null
  unstable: boolean
  /** Milliseconds left of a cooldown or ejection. */
  waitMs: number
}

export type HealthSnapshot = ReadonlyMap<string, EndpointSnapshot>

/** Taken before the request is sent, because its outcome changes the health. */
export function takeHealthSnapshot(
  { candidates, exclusions }: RoutingDecision,
  { health, now }: RoutingState,
): HealthSnapshot {
  const ids = [
    ...candidates.map(({ id }) => id),
    ...exclusions.map(({ endpoint, byokKeyId }) => healthIdOf(endpoint.id, byokKeyId)),
  ]
  const snapshot = new Map<string, EndpointSnapshot>()
  for (const id of ids) {
    const endpointHealth = health.find(id)
    if (!endpointHealth) continue
    const { latency, throughput } = endpointHealth.getSpeed(now)
    snapshot.set(id, {
      latency: roundToHundredths(latency?.p50),
      throughput: roundToHundredths(throughput?.p50),
      uptime: roundToHundredths(endpointHealth.getStats(now).uptime30m),
      unstable: endpointHealth.isUnstable(now),
      waitMs: Math.max(0, endpointHealth.cooldownUntil - now, endpointHealth.ejectedUntil - now),
    })
  }
  return snapshot
}

function roundToHundredths(value: number | null | undefined): number | null {
  return value == null ? null : Math.round(value * 100) / 100
}

/** One attempt at one endpoint. Times are milliseconds since the request arrived. */
export interface UpstreamAttempt {
  model: string
  provider: string
  tag: string
  byokKeyId: string | null
  status: number
  error: string | null
  startedMs: number
  durationMs: number
}

/** The outcome of a request so far. */
export interface RoutingOutcome {
  attempts: readonly UpstreamAttempt[]
  servedBy: Candidate | null
  /** The candidate of the current or last attempt. */
  lastCandidate: Candidate | null
  generationMs: number | null
  firstTokenMs: number | null
  totalMs: number
}

export interface ExplainedDecision extends RoutingDecision {
  /** The model as the request names it. */
  requested: string
  /** Slugs in the order they are tried, with the models they resolve to. */
  slugs: readonly string[]
  resolvedModels: readonly ResolvedModel[]
  /** The choice of a router model, if the first slug names one. */
  routed: { strategy: RouterStrategy; models: readonly string[] } | null
  region: DataRegion
  /** The routing rule that the request met; null if it met none. */
  rule: { id: string; name: string; hasModels: boolean } | null
  /** Whether the request names an alias. */
  isAlias: boolean
  /** Models and aliases that expire, or have expired. */
  expirations: readonly ExpirationNotice[]
  /** The targets that were chosen for an alias. */
  splits: readonly SplitChoice[]
  /** The routing parameters of the request. */
  params: { [name: string]: unknown }
  healthSnapshot: HealthSnapshot
}

/** A name of the request that stops working, or has moved to its replacement. */
export interface ExpirationNotice {
  name: string
  type: 'alias' | 'model'
  expires_at: string
  replacement: string | null
  is_expired: boolean
}

type Strategy = 'direct' | 'alias' | 'latest' | 'fallback' | 'rule' | RouterStrategy

export interface Explanation {
  requested: string
  strategy: Strategy
  region: DataRegion
  summary: string
  attempt: number
  is_byok: boolean
  rule?: { id: string; name: string }
  endpoints: { total: number; available: AvailableEndpoint[]; excluded: ExcludedEndpoint[] }
  params?: { [name: string]: unknown }
  expirations?: readonly ExpirationNotice[]
  splits?: readonly SplitChoice[]
  attempts?: AttemptRecord[]
  generation_time?: number
  timings?: { until_dispatch: number; until_first_token: number | null; total: number }
}

export interface AvailableEndpoint {
  model: string
  provider: string
  selected: boolean
  tag: string
  rank: number
  why: Candidate['why']
  reason: string
  share?: number
  own_key?: string
  price: { prompt: number; completion: number } | null
  health: {
    latency: number | null
    throughput: number | null
    uptime: number | null
    unstable: boolean
  } | null
}

export interface ExcludedEndpoint {
  model: string
  provider: string
  tag: string
  reason: ExclusionReason
  detail: string
  own_key?: string
}

interface AttemptRecord {
  model: string
  provider: string
  status: number
  tag: string
  own_key?: string
  error?: string
  started: number
  duration: number
}

/** Explains why a request is routed where it is; `outcome` is null for a quote. */
export function explainDecision(decision: ExplainedDecision, outcome: RoutingOutcome | null): Explanation {
  const { requested, region, candidates, params, rule } = decision
  const current = outcome?.servedBy ?? outcome?.lastCandidate ?? candidates[0]
  return {
    requested,
    strategy: resolveStrategy(decision, current?.model),
    region,
    summary: formatSummary(decision, outcome),
    attempt: outcome?.attempts.length ?? 0,
    is_byok: current?.byokKey != null,
    ...(rule && { rule: { id: rule.id, name: rule.name } }),
    endpoints: {
      total: countEndpoints(decision),
      available: candidates.map((candidate, index) =>
        toAvailableEndpoint(decision, candidate, index, outcome),
      ),
      excluded: listExcludedEndpoints(decision),
    },
    ...(Object.keys(params).length > 0 && { params }),
    ...(decision.expirations.length > 0 && { expirations: decision.expirations }),
    ...(decision.splits.length > 0 && { splits: decision.splits }),
    ...(outcome && toOutcomeFields(outcome)),
  }
}

function toOutcomeFields({
  attempts,
  generationMs,
  firstTokenMs,
  totalMs,
}: RoutingOutcome): Partial<Explanation> {
  const [first] = attempts
  if (!first) return {}
  return {
    ...(attempts.length > 1 && { attempts: attempts.map(toAttemptRecord) }),
    ...(generationMs !== null && { generation_time: Math.round(generationMs) }),
    timings: {
      until_dispatch: Math.round(first.startedMs),
      until_first_token: firstTokenMs === null ? null : Math.round(firstTokenMs),
      total: Math.round(totalMs),
    },
  }
}

function toAttemptRecord({
  byokKeyId,
  error,
  startedMs,
  durationMs,
  ...attempt
}: UpstreamAttempt): AttemptRecord {
  return {
    ...attempt,
    ...(byokKeyId !== null && { own_key: byokKeyId }),
    ...(error !== null && { error }),
    started: Math.round(startedMs),
    duration: Math.round(durationMs),
  }
}

/** Classifies how the name in the request resolved to the model. */
function resolveStrategy(
  { slugs, resolvedModels, routed, isAlias, rule }: ExplainedDecision,
  model: Model | undefined,
): Strategy {
  const [primary] = resolvedModels
  if (!primary || !model) return routed?.strategy ?? 'direct'
  if (routed?.models.includes(model.id)) return routed.strategy
  if (model !== primary.model) return 'fallback'
  if (rule?.hasModels) return 'rule'
  if (isAlias) return 'alias'
  if (primary.latest !== null) return 'latest'
  const [name, ...suffixes] = (slugs[0] ?? '').split(':')
  const rest = suffixes.filter((suffix) => !primary.variants.includes(suffix))
  return [name, ...rest].join(':') === model.id ? 'direct' : 'alias'
}

function formatSummary(decision: ExplainedDecision, outcome: RoutingOutcome | null): string {
  const count = new Set(decision.candidates.map(({ endpoint }) => endpoint)).size
  const choice = `${count} of ${countEndpoints(decision)} endpoints can serve this request`
  const attempts = outcome?.attempts.length ?? 0
  if (!outcome || attempts === 0) return `${choice}; no attempt was made.`
  const tries = attempts === 1 ? '1 attempt' : `${attempts} attempts`
  if (!outcome.servedBy) return `${choice}; none succeeded in ${tries}.`
  const { model, endpoint } = outcome.servedBy
  return `${choice}; ${endpoint.provider.name} served ${model.id} in ${tries}.`
}

function modelsOf({ resolvedModels }: ExplainedDecision): Set<Model> {
  return new Set(resolvedModels.map(({ model }) => model))
}

function countEndpoints(decision: ExplainedDecision): number {
  let total = 0
  for (const { endpoints } of modelsOf(decision)) total += endpoints.length
  return total
}

function toAvailableEndpoint(
  decision: ExplainedDecision,
  candidate: Candidate,
  index: number,
  outcome: RoutingOutcome | null,
): AvailableEndpoint {
  const { model, endpoint, byokKey, why, share, id } = candidate
  const snapshot = decision.healthSnapshot.get(id)
  return {
    model: model.id,
    provider: endpoint.provider.name,
    selected: candidate === outcome?.servedBy,
    tag: endpoint.tag,
    rank: index + 1,
    why,
    reason: describeRanking(decision, candidate),
    ...(share !== null && { share: Math.round(share * 10_000) / 10_000 }),
    ...(byokKey && { own_key: byokKey.id }),
    price: toPricePerMillion(endpoint),
    health: snapshot ? healthOf(snapshot) : null,
  }
}

function describeRanking({ candidates }: ExplainedDecision, { model, why, share }: Candidate): string {
  if (why !== 'balanced') return rankingReasonTexts[why]
  if (share !== null)
    return `Load balancing by price tries it first for ${formatPercent(share)} of such requests.`
  const isAlone = candidates.filter((other) => other.model === model).length === 1
  return isAlone ? 'No other endpoint of this model can serve the request.' : rankingReasonTexts.balanced
}

function formatPercent(share: number): string {
  return `${Number((share * 100).toPrecision(2))} %`
}

/** USD per million tokens. */
function toPricePerMillion({ pricing }: Endpoint): AvailableEndpoint['price'] {
  if (!pricing) return null
  const roundPrice = (price: string) => Number(estimatePerMillion(price, pricing.discount).toPrecision(12))
  return { prompt: roundPrice(pricing.prompt), completion: roundPrice(pricing.completion) }
}

function healthOf({ waitMs: _internal, ...snapshot }: EndpointSnapshot): AvailableEndpoint['health'] {
  return snapshot
}

/** Excluded endpoints, and those that were not considered because there is no credential for them. */
function listExcludedEndpoints(decision: ExplainedDecision): ExcludedEndpoint[] {
  const { candidates, exclusions, healthSnapshot } = decision
  const mentioned = new Set([...candidates, ...exclusions].map(({ endpoint }) => endpoint))
  const considered = exclusions.map(({ model, endpoint, byokKeyId, reason }) => ({
    ...toExcludedEndpoint(model, endpoint, reason, healthSnapshot.get(healthIdOf(endpoint.id, byokKeyId))),
    ...(byokKeyId !== null && { own_key: byokKeyId }),
  }))
  const notConsidered = [...modelsOf(decision)].flatMap((model) =>
    model.endpoints
      .filter((endpoint) => !mentioned.has(endpoint))
      .map((endpoint) => toExcludedEndpoint(model, endpoint, 'no_credential')),
  )
  return [...considered, ...notConsidered]
}

/** Reasons that end without any change of the request. */
const temporaryReasons: ReadonlySet<ExclusionReason> = new Set<ExclusionReason>(['rate_limited', 'ejected'])

function toExcludedEndpoint(
  model: Model,
  endpoint: Endpoint,
  reason: ExclusionReason,
  snapshot?: EndpointSnapshot,
): ExcludedEndpoint {
  const seconds = Math.ceil((snapshot?.waitMs ?? 0) / 1000)
  const wait = temporaryReasons.has(reason) && seconds > 0 ? ` It is used again in ${seconds} s.` : ''
  return {
    model: model.id,
    provider: endpoint.provider.name,
    tag: endpoint.tag,
    reason,
    detail: describeExclusion(reason) + wait,
  }
}
