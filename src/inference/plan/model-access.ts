import type { Caller } from '../../access/caller.ts'
import type { Model } from '../../catalog/model.ts'
import type { DataRegion } from '../../formats/vocabulary.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { computeEffectivePolicy, type EffectivePolicy } from '../../governance/policy/effective.ts'
import { isRegionAllowed } from '../../governance/policy/guard.ts'
import { queryBoolean } from '../../platform/validation/query-params.ts'
import { hasUsableEndpoint } from '../routing/prepare.ts'
import type { RoutingQuery } from '../routing/query.ts'

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
  const routers = listRouterModels(gateway, region)
  if (query.include_unavailable) return [...gateway.catalog.wildcards.listAll(), ...routers]
  const { byokKeys } = await gateway.accounts.findContext(caller.key)
  return [...findReachable(gateway, byokKeys, region), ...routers]
}

type ReachableByRegion = Map<DataRegion, readonly Model[]>
const reachableModels = new WeakMap<readonly Model[], WeakMap<ScopeContext['byokKeys'], ReachableByRegion>>()

/** Catalogs and lists of keys are replaced when they change, so what is reachable is found once for each. */
function findReachable(
  gateway: Gateway,
  byokKeys: ScopeContext['byokKeys'],
  region: DataRegion,
): readonly Model[] {
  const models = gateway.catalog.wildcards.listAll()
  const byKeys = reachableModels.get(models) ?? new WeakMap<ScopeContext['byokKeys'], ReachableByRegion>()
  const byRegion = byKeys.get(byokKeys) ?? new Map<DataRegion, readonly Model[]>()
  const known = byRegion.get(region)
  if (known) return known
  const reachable = filterUsable(gateway, models, { policy: unrestrictedPolicy, byokKeys, region })
  reachableModels.set(models, byKeys.set(byokKeys, byRegion.set(region, reachable)))
  return reachable
}

/** Regional hosts have none. */
function listRouterModels({ catalog }: Gateway, region: DataRegion): Model[] {
  return region === 'global' ? [...catalog.routers.values()] : []
}

/** The models that a plain request of the caller could be routed to, by the rules of routing, and router models. */
export async function listUsableModels(
  { gateway, caller, region }: ModelViewer,
  isListed: (model: Model) => boolean,
): Promise<readonly Model[]> {
  const { policy, byokKeys } = await gateway.accounts.findContext(caller.key)
  if (!isRegionAllowed(policy, region)) return []
  const context = { policy, byokKeys, region }
  const usable = filterUsable(gateway, gateway.catalog.wildcards.listAll().filter(isListed), context)
  if (usable.length === 0) return usable
  const routers = listRouterModels(gateway, region).filter(isListed)
  const replying = filterUsable(gateway, routers, context)
  return [
    ...usable,
    ...routers.filter((router) => router.endpoints.length === 0 || replying.includes(router)),
  ]
}

interface ScopeContext extends Pick<RoutingQuery, 'byokKeys' | 'region'> {
  policy: EffectivePolicy
}

/** The models with an endpoint that may be used. */
export function filterUsable(
  gateway: Gateway,
  models: readonly Model[],
  context: ScopeContext,
): readonly Model[] {
  const query: RoutingQuery = {
    ...context,
    task: 'text',
    models: [],
    preferences: {},
    defaultSort: null,
    prompt: { plain: null, call: { messages: [], stream: false, unknown: [] }, promptTokens: 0 },
    providerByName: gateway.catalog.providerByName,
    stickyKeyFor: () => null,
  }
  return models.filter((model) => hasUsableEndpoint(model, query))
}
