import type { Gateway } from '../../gateway/gateway.ts'
import { addFallback, listFallbacks } from '../plan/fallback.ts'
import { buildPlan } from '../plan/plan.ts'
import type { Admitted, RequestState, Routed } from '../request/inference-request.ts'
import { type AdmitOptions, admit } from './admit.ts'
import { isLimitError } from './limit-error.ts'

/** Admits a request; for a spending limit that does not allow it, to the models that are declared for this reason. */
export async function admitOrFallBack<R extends RequestState>(
  gateway: Gateway,
  request: Routed<R>,
  options: AdmitOptions = {},
): Promise<Admitted<R>> {
  const { plan } = request
  try {
    return await admit(gateway, request, options)
  } catch (error) {
    const [first] = plan.candidates
    if (!first || !isLimitError(error)) throw error
    request.isRateCounted = true
    for (const fallback of listFallbacks(
      gateway,
      request,
      { reason: 'budget', from: first.model },
      buildPlan,
    )) {
      const admitted = await tryAdmit(gateway, Object.assign(request, { plan: fallback.plan }), options)
      request.plan = excludeAll(plan)
      addFallback(request, fallback)
      if (admitted) return admitted
    }
    request.plan = plan
    throw error
  }
}

async function tryAdmit<R extends RequestState>(
  gateway: Gateway,
  request: Routed<R>,
  options: AdmitOptions,
): Promise<Admitted<R> | null> {
  try {
    return await admit(gateway, request, options)
  } catch (error) {
    if (isLimitError(error)) return null
    throw error
  }
}

/** No candidate is affordable, or not all of those that may have to be tried are. */
function excludeAll({ candidates, exclusions, ...plan }: Routed['plan']): Routed['plan'] {
  const unaffordable = candidates.map(({ model, endpoint, byokKey }) => ({
    model,
    endpoint,
    byokKeyId: byokKey?.id ?? null,
    reason: 'budget' as const,
  }))
  return { ...plan, candidates: [], exclusions: [...exclusions, ...unaffordable] }
}
