import { toModelRule } from '../../catalog/model-rule.ts'
import type { Candidate } from '../../inference/routing/candidate.ts'
import type { Window } from '../../ledger/meter.ts'

export const limitMeasures = [
  'usd',
  'requests',
  'tokens',
  'input_tokens',
  'output_tokens',
  'concurrent_requests',
] as const
export type LimitMeasure = (typeof limitMeasures)[number]

/** Shortest first. Seconds, minutes and hours slide; days, weeks and months are those of the calendar, in UTC. */
export const limitWindows = ['second', 'minute', 'hour', 'day', 'week', 'month', 'lifetime'] as const
export type LimitWindow = (typeof limitWindows)[number]

/** What a limit counts separately. */
export const limitDimensions = ['workspace', 'member', 'key', 'end_user', 'model', 'provider'] as const
export type LimitDimension = (typeof limitDimensions)[number] | `tag:${string}`

/** The requests that a limit counts: those that all of these match. Null and empty lists match all. */
export interface LimitMatch {
  workspaceId: string | null
  /** The member who created the key. */
  userId: string | null
  keyId: number | null
  tier: string | null
  endUser: string | null
  /** Tags that a request must have, such as `project=apollo`. */
  tags: readonly string[]
  /** Models, or patterns that end with `*`. */
  models: readonly string[]
  /** Slugs of providers, or tags of endpoints. */
  providers: readonly string[]
}

/** A declared limit of an organization. */
export interface LimitRule {
  id: string
  name: string
  measure: LimitMeasure
  /** Null for concurrent requests. */
  window: LimitWindow | null
  /** Nano-dollars, or a count. */
  amount: bigint
  /** Whether dollars include the list price of requests with BYOK keys. */
  includeByok: boolean
  match: LimitMatch
  /** Each combination of these is counted by itself. */
  per: readonly LimitDimension[]
}

const ledgerWindows: { readonly [W in LimitWindow]?: Window } = {
  day: 'day',
  week: 'week',
  month: 'month',
  lifetime: 'total',
}

/** The window in which the ledger enforces a limit; undefined if it does not. */
export function ledgerWindowOf({ measure, window }: LimitRule): Window | undefined {
  return measure === 'usd' && window ? ledgerWindows[window] : undefined
}

/** Whether a limit depends on nothing but the key. */
export function isSameForKey({ match, per }: LimitRule): boolean {
  return (
    match.endUser === null &&
    match.tags.length === 0 &&
    !dependsOnCandidate({ match, per }) &&
    per.every((dimension) => dimension === 'workspace' || dimension === 'member' || dimension === 'key')
  )
}

export function dependsOnCandidate({ match, per }: Pick<LimitRule, 'match' | 'per'>): boolean {
  return (
    match.models.length > 0 || match.providers.length > 0 || per.includes('model') || per.includes('provider')
  )
}

/** Whether a limit counts what a candidate serves. */
export function coversCandidate(
  { match: { models, providers } }: LimitRule,
  { model, endpoint }: Pick<Candidate, 'model' | 'endpoint'>,
): boolean {
  if (models.length > 0) {
    const name = toModelRule(model)
    if (!models.some((pattern) => matchesModel(pattern, name))) return false
  }
  if (providers.length === 0) return true
  return providers.some((provider) => provider === endpoint.provider.slug || provider === endpoint.tag)
}

/** A name without a pattern covers its variants. */
function matchesModel(pattern: string, name: string): boolean {
  if (pattern.endsWith('*')) return name.startsWith(pattern.slice(0, -1))
  return name === pattern || name.startsWith(`${pattern}:`)
}
