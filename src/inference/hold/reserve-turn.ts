import { isRouterSlug } from '../../catalog/router-models.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { buildPlan } from '../plan/plan.ts'
import type { RequestState } from '../request/inference-request.ts'
import { estimateHold } from './admit.ts'

/**
 * Holds what the reply of a request may cost before another model is paid to check or to route it. A request without a
 * candidate, such as one to a router model, reserves nothing: its admission decides.
 */
export async function reserveTurn(gateway: Gateway, request: RequestState): Promise<void> {
  if (request.options.models.some(isRouterSlug)) return
  const plan = buildPlan(gateway, request, null)
  if (plan.candidates.length === 0) return
  await request.funds?.reserveAhead(gateway, estimateHold(gateway, request, plan).estimate)
}
