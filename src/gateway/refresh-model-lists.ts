import { claimList, saveList, saveProblem } from '../catalog/discovery/store.ts'
import type { CatalogProvider } from '../catalog/model.ts'
import { findListFormat, type ListOutcome, listProviderModels } from '../inference/upstream/list-models.ts'
import { isoNow } from '../platform/time/clock.ts'
import type { Gateway } from './gateway.ts'
import { pollDiscoveredModels } from './reload.ts'

const intervalMs = 60 * 60_000

/** Reads the lists that are due, each by one node: of providers with wildcards, and those that were read on request. */
export async function refreshModelLists(gateway: Gateway): Promise<void> {
  const { catalog, db, clock, discovered } = gateway
  for (const provider of catalog.providers) {
    const isWanted = (provider.wildcards?.length ?? 0) > 0 || discovered.lists.has(provider.slug)
    if (!isWanted || !provider.enabled || !findListFormat(provider)) continue
    const dueBefore = new Date(clock.now() - intervalMs).toISOString()
    if (await claimList(db, provider.slug, isoNow(clock), dueBefore))
      await refreshModelList(gateway, provider)
  }
}

/** Reads one list and stores it, or why it could not be read; then the previous list stays. */
export async function refreshModelList(gateway: Gateway, provider: CatalogProvider): Promise<ListOutcome> {
  const { db, clock } = gateway
  const outcome = await listProviderModels(gateway, provider)
  if (outcome.models) await saveList(db, provider.slug, isoNow(clock), outcome.models)
  else await saveProblem(db, provider.slug, isoNow(clock), outcome.test.message)
  await pollDiscoveredModels(gateway)
  return outcome
}
