import type { Model } from '../catalog/model.ts'
import type { DataRegion } from '../catalog/vocabulary.ts'
import type { Gateway } from '../gateway.ts'
import { queryBoolean } from '../lib/page.ts'
import { type EffectivePolicy, effectivePolicy } from '../policy/effective.ts'
import { allowsRegion } from '../policy/guard.ts'
import { isOpen } from '../routing/decide.ts'
import type { Wanted } from '../routing/wanted.ts'
import type { Caller } from './authenticate.ts'

/** Who asks for a list of models, and through which region. */
export interface ModelViewer {
  gateway: Gateway
  caller: Caller
  region: DataRegion
}

export const availabilityQuery = {
  include_unavailable: queryBoolean()
    .optional()
    .describe('true: also models that no credential, of the installation or of the caller, can reach'),
}

const openPolicy = effectivePolicy({})

/** The models of a listing: those with a credential that reaches them, unless the query asks for all. */
export async function listedModels(
  { gateway, caller, region }: ModelViewer,
  query: { include_unavailable?: boolean | undefined },
): Promise<readonly Model[]> {
  if (query.include_unavailable) return gateway.catalog.models
  const { ownKeys } = await gateway.memory.standingOf(caller.key)
  return reachable(gateway, gateway.catalog.models, { policy: openPolicy, ownKeys, region })
}

/** Those that a plain request of the caller could be routed to, by the rules of routing itself. */
export async function usableModels(
  { gateway, caller, region }: ModelViewer,
  models: readonly Model[],
): Promise<readonly Model[]> {
  const { policy, ownKeys } = await gateway.memory.standingOf(caller.key)
  return allowsRegion(policy, region) ? reachable(gateway, models, { policy, ownKeys, region }) : []
}

interface Standing extends Pick<Wanted, 'ownKeys' | 'region'> {
  policy: EffectivePolicy
}

function reachable(gateway: Gateway, models: readonly Model[], standing: Standing): readonly Model[] {
  const wanted: Wanted = {
    ...standing,
    models: [],
    preferences: {},
    call: { messages: [], stream: false, unknown: [] },
    providerByName: gateway.catalog.providerByName,
    conversation: () => null,
  }
  return models.filter((model) => isOpen(model, wanted))
}
