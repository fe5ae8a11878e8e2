import type { Gateway } from '../../gateway/gateway.ts'
import { isNothing, maxAmounts, subtractAmounts } from '../../ledger/amounts.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { Admitted, RoutingPlan } from '../request/inference-request.ts'
import { estimateHold } from './admit.ts'
import { dropUnheld } from './declared-limits.ts'
import { holdTurn } from './extend-hold.ts'
import { buildExtension } from './extension.ts'
import { limitError } from './limit-error.ts'

/**
 * Holds what a request may cost at further candidates, before it is sent there: the difference to what is held for it
 * already. Returns the plan without the endpoints that a limit excludes; throws if a limit does not allow it.
 */
export async function raiseHold(
  gateway: Gateway,
  request: Admitted,
  plan: RoutingPlan,
): Promise<RoutingPlan> {
  const { hold } = request
  const allowed = request.keyContext.declaredLimits ? dropUnheld(request, plan) : plan
  if (allowed.candidates.length === 0) throw new GatewayError('limit_reached')
  const { plan: priced, estimate } = estimateHold(gateway, request, allowed)
  if (hold.funds) {
    await holdTurn(gateway, { ...request, plan: priced })
    return priced
  }
  const { amount, byok } = estimate
  const missing = subtractAmounts({ amount, byok }, hold.amounts)
  // A request of a free model was counted when it was admitted.
  const free = request.plan.candidates.some(({ model }) => model.id.endsWith(':free')) ? null : estimate.free
  if (isNothing(missing) && !free) return priced
  const extension = buildExtension(gateway, request, missing)
  extension.request.free = free
  const rejection = await gateway.ledger.admit(extension)
  if (rejection) throw limitError(request, rejection)
  hold.extensions = [...(hold.extensions ?? []), extension.request.id]
  hold.amounts = maxAmounts(hold.amounts, { amount, byok })
  return priced
}
