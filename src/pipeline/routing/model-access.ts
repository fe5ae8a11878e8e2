import type { Gateway } from '../../app/gateway.ts'
import type { Model } from '../../catalogue/model.ts'
import type { DataRegion } from '../../catalogue/vocabulary.ts'
import { queryBoolean } from '../../lib/query-params.ts'
import { computeEffectivePolicy, type EffectivePolicy } from '../../policy/effective.ts'
import { isRegionAllowed } from '../../policy/guard.ts'
import { hasUsableEndpoint } from '../../routing/decide.ts'
import type { RoutingQuery } from '../../routing/query.ts'
import type { Caller } from '../request/authenticate.ts'

/** The caller of a model listing, and the region of the host it called. */
export interface ModelViewer {
  gateway: Gateway
  caller: Caller
  region: DataRegion
}

export const availabilityQuery = {
  include_unavailable: queryBoolean()
    .optional()
    .describe('true: also models that neither the installation nor the caller has a credential for.'),
}

const unrestrictedPolicy = computeEffectivePolicy({})

/** The models that some credential can reach, or all with `include_unavailable`. */
export async function listReachableModels(
  { gateway, caller, region }: ModelViewer,
  query: { include_unavailable?: boolean | undefined },
): Promise<readonly Model[]> {
  if (query.include_unavailable) return gateway.catalogue.models
  const { byokKeys } = await gateway.accounts.findContext(caller.key)
  return filterReachable(gateway, gateway.catalogue.models, { policy: unrestrictedPolicy, byokKeys, region })
}

/** The models that a plain request of the caller could be routed to, by the rules of routing. */
export async function listUsableModels(
  { gateway, caller, region }: ModelViewer,
  models: readonly Model[],
): Promise<readonly Model[]> {
  const { policy, byokKeys } = await gateway.accounts.findContext(caller.key)
  return isRegionAllowed(policy, region) ? filterReachable(gateway, models, { policy, byokKeys, region }) : []
}

interface ReachContext extends Pick<RoutingQuery, 'byokKeys' | 'region'> {
  policy: EffectivePolicy
}

function filterReachable(
  gateway: Gateway,
  models: readonly Model[],
  context: ReachContext,
): readonly Model[] {
  const query: RoutingQuery = {
    ...context,
    task: 'text',
    models: [],
    preferences: {},
    call: { messages: [], stream: false, unknown: [] },
    providerByName: gateway.catalogue.providerByName,
    stickyKeyFor: () => null,
  }
  return models.filter((model) => hasUsableEndpoint(model, query))
}
