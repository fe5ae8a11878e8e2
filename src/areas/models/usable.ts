import type { Model } from '../../catalog/model.ts'
import type { DataRegion } from '../../catalog/vocabulary.ts'
import type { Gateway } from '../../gateway.ts'
import type { Caller } from '../../pipeline/authenticate.ts'
import { allowsRegion } from '../../policy/guard.ts'
import { isOpen } from '../../routing/decide.ts'
import type { Wanted } from '../../routing/wanted.ts'

/** Those that a plain request of the caller could be routed to, by the rules of routing itself. */
export async function usableModels(
  gateway: Gateway,
  caller: Caller,
  region: DataRegion,
  models: readonly Model[],
): Promise<readonly Model[]> {
  const { policy, ownKeys } = await gateway.memory.standingOf(caller.key)
  if (!allowsRegion(policy, region)) return []
  const wanted: Wanted = {
    models: [],
    preferences: {},
    call: { messages: [], stream: false, unknown: [] },
    region,
    policy,
    ownKeys,
    providerByName: gateway.catalog.providerByName,
    conversation: () => null,
  }
  return models.filter((model) => isOpen(model, wanted))
}
