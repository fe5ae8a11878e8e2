import type { EndpointPricing } from '../../catalog/price.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { describeDecision } from '../explain/metadata.ts'
import type { RequestState, RoutingPlan, Unguarded } from '../request/inference-request.ts'
import { pricingOf } from '../routing/endpoint-price.ts'
import { type Explanation, explainDecision } from '../routing/explain.ts'

/** A routing decision as it is stored. */
export interface RecordedPlan
  extends Pick<Explanation, 'strategy' | 'params' | 'rule' | 'splits' | 'endpoints'> {
  /** The prices of the candidates, in their order; null: unknown. */
  pricing: (EndpointPricing | null)[]
  /** The share of the list price that was charged with a BYOK key. */
  byok_fee: number
}

/** The id of the stored plan of a request; null if it is not stored. */
export function recordPlan(
  gateway: Gateway,
  request: Unguarded<RequestState>,
  plan: RoutingPlan,
): string | null {
  const { caller, options, content, rule } = request
  // Everything that `describePlan` reads besides the catalog. Cheap: it is built for every request.
  let key = `${options.models.join()} ${options.routed?.requested ?? ''} ${options.notices?.[0]?.name ?? ''} ${content.plain ? '' : (content.call.serviceTier ?? '')}`
  if (rule) key += `\n${rule.id} ${rule.requested} ${rule.name}`
  if (options.splits) key += `\n${JSON.stringify(options.splits)}`
  for (const { id, why, share } of plan.candidates) key += `\n${id} ${why} ${share}`
  for (const { endpoint, byokKeyId, reason } of plan.exclusions)
    key += `\n${endpoint.id} ${byokKeyId} ${reason}`
  for (const _name in options.preferences) {
    key += `\n${JSON.stringify(options.preferences)}`
    break
  }
  return gateway.requestLog.plans.findId(gateway.catalog, caller.organizationId, key, () =>
    describePlan(gateway, request, plan),
  )
}

function describePlan(gateway: Gateway, request: Unguarded<RequestState>, plan: RoutingPlan): RecordedPlan {
  const { billing } = gateway.settings
  // The health at the time differs for every request.
  const decision = describeDecision(request, { ...plan, healthSnapshot: null, qualityFloor: null })
  const { strategy, params, rule, splits, endpoints } = explainDecision(decision, null)
  return {
    strategy,
    endpoints,
    ...(params && { params }),
    ...(rule && { rule }),
    ...(splits && { splits }),
    pricing: plan.candidates.map(({ endpoint }) => pricingOf(gateway, endpoint)),
    byok_fee: billing.byok_fee,
  }
}
