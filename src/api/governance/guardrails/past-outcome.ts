import type { GenerationRow } from '../../../analytics/request-log/walk.ts'
import type { Catalog } from '../../../catalog/catalog.ts'
import { findModel } from '../../../catalog/lookup.ts'
import type { Endpoint, Model } from '../../../catalog/model.ts'
import { dataRegions } from '../../../formats/vocabulary.ts'
import type { EffectiveRules } from '../../../governance/policy/effective.ts'
import { findEndpointBlock, isRegionAllowed, isZdrEnforced } from '../../../governance/policy/guard.ts'
import type { PastOutcome } from './requests-totals.ts'

const allowed: PastOutcome = { kind: 'allowed', field: null }
const undecided: PastOutcome = { kind: 'undecided', field: null }

/** What a past request would have met with the rules about models, providers, regions and data. */
export function findPastOutcome(catalog: Catalog, rules: EffectiveRules, row: GenerationRow): PastOutcome {
  const region = dataRegions.find((name) => name === row.region)
  if (region && !isRegionAllowed(rules, region)) return { kind: 'rejected', field: 'allowed_data_regions' }
  const model = findModel(catalog, row.model)?.model
  const endpoint = model?.endpoints.find(({ tag }) => tag === row.endpoint)
  if (!model || !endpoint) return undecided
  const isByok = row.is_byok === 1
  const field = findEndpointBlock(rules, model, endpoint)
  // A BYOK key can declare that its provider retains nothing.
  if (field === undefined && isByok && isRetentionBlocked(rules, model, endpoint)) return undecided
  const blockedBy = field ?? (isRetentionBlocked(rules, model, endpoint) ? 'enforce_zdr' : undefined)
  if (blockedBy === undefined) return allowed
  const others = isByok ? model.endpoints : model.callable
  const isServed = others.some(
    (other) =>
      other.regions.some((name) => name === row.region || row.region === 'global') &&
      findEndpointBlock(rules, model, other) === undefined &&
      !isRetentionBlocked(rules, model, other),
  )
  return { kind: isServed ? 'moved' : 'rejected', field: blockedBy }
}

function isRetentionBlocked(rules: EffectiveRules, model: Model, endpoint: Endpoint): boolean {
  return endpoint.data_policy.retains && isZdrEnforced(rules, model, endpoint)
}
