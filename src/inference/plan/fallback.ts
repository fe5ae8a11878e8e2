import type { Model } from '../../catalog/model.ts'
import { isRouterSlug } from '../../catalog/router-models.ts'
import type { FallbackReason } from '../../formats/schema/fallbacks.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { GatewayError, invalidFieldError } from '../../platform/errors/gateway-error.ts'
import type { FallbackStep } from '../request/attempts.ts'
import type { RequestState, RoutingPlan } from '../request/inference-request.ts'

type BuildPlanFn = (gateway: Gateway, request: RequestState) => RoutingPlan

export interface PlannedFallback {
  step: FallbackStep
  /** The candidates of the model that were not in the plan before. */
  plan: RoutingPlan
}

/**
 * Plans the models that may serve a request for a reason, one after the other: those of the request, otherwise those that
 * are declared for the model that could not. A model without candidates is left out.
 */
export function* listFallbacks(
  gateway: Gateway,
  request: RequestState,
  { reason, from }: { reason: FallbackReason; from: Model },
  buildPlan: BuildPlanFn,
): Generator<PlannedFallback> {
  const { options, format } = request
  if (format.task !== 'text') return
  const known = new Set(request.plan?.candidates.map(({ id }) => id))
  for (const slug of options.fallbacks?.[reason] ?? from.fallbacks?.[reason] ?? []) {
    if (options.models.includes(slug)) continue
    const plan = tryPlan(gateway, { ...request, options: { ...options, models: [slug] } }, buildPlan)
    const candidates = plan?.candidates.filter(({ id }) => !known.has(id)) ?? []
    const [first] = candidates
    if (!plan || !first) continue
    yield { step: { reason, from: from.id, to: first.model.id }, plan: { ...plan, candidates } }
  }
}

/** Null for a model that does not exist or cannot serve the request. */
function tryPlan(gateway: Gateway, request: RequestState, buildPlan: BuildPlanFn): RoutingPlan | null {
  try {
    return buildPlan(gateway, request)
  } catch (error) {
    if (error instanceof GatewayError) return null
    throw error
  }
}

/** Adds the candidates of a fallback to those that the request was sent to before. */
export function addFallback(request: RequestState, { step, plan }: PlannedFallback): void {
  const before = request.plan
  request.plan = {
    ...plan,
    candidates: [...(before?.candidates ?? []), ...plan.candidates],
    exclusions: [...(before?.exclusions ?? []), ...plan.exclusions],
    resolvedModels: [...(before?.resolvedModels ?? []), ...plan.resolvedModels],
    healthSnapshot:
      plan.healthSnapshot && new Map([...(before?.healthSnapshot ?? []), ...plan.healthSnapshot]),
  }
  request.options = { ...request.options, models: [...request.options.models, step.to] }
  request.attempts.fallbacks = [...(request.attempts.fallbacks ?? []), step]
}

/** Rejects lists that could never have an effect. `requireModel` throws for a model that does not exist. */
export function checkFallbacks(
  { options, format }: RequestState,
  requireModel: (slug: string) => unknown,
): void {
  if (!options.fallbacks) return
  if (format.task !== 'text') throw invalidFieldError('fallbacks', 'by reason are for requests for text')
  for (const slug of Object.values(options.fallbacks).flatMap((models) => models ?? [])) {
    if (isRouterSlug(slug)) throw invalidFieldError('fallbacks', `cannot name the router model "${slug}"`)
    requireModel(slug)
  }
}
