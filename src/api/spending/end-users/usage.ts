import type { Group, RollupQuery } from '../../../analytics/rollups/aggregator.ts'
import { TooManyGroupsError } from '../../../analytics/rollups/aggregator.ts'
import { RollupTimeoutError } from '../../../analytics/rollups/segment-store.ts'
import { queryUsage } from '../../../analytics/usage.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'

const timeoutMs = 10_000

export interface Period {
  from: number
  to: number
}

export interface EndUserUsage {
  name: string
  requests: bigint
  tokens: bigint
  /** Nano-dollars. */
  spend: bigint
  byokUsage: bigint
}

/** The usage of each end user of a period, or of those that are named; the largest spending first. */
export async function listUsage(
  gateway: Gateway,
  organizationId: string,
  period: Period,
  names?: readonly string[],
): Promise<EndUserUsage[]> {
  const groups = await query(gateway, organizationId, { ...buildQuery(period, names), granularity: null })
  return groups.flatMap(toUsage).sort(compareSpending)
}

/** The first and the last UTC day with a request of each of the named end users. */
export async function listDays(
  gateway: Gateway,
  organizationId: string,
  period: Period,
  names: readonly string[],
): Promise<ReadonlyMap<string, { first: string; last: string }>> {
  const days = new Map<string, { first: string; last: string }>()
  if (names.length === 0) return days
  const groups = await query(gateway, organizationId, { ...buildQuery(period, names), granularity: 'day' })
  for (const { bucket, values } of groups) {
    const [name] = values
    if (!name || bucket === null) continue
    const known = days.get(name) ?? { first: bucket, last: bucket }
    days.set(name, {
      first: bucket < known.first ? bucket : known.first,
      last: bucket > known.last ? bucket : known.last,
    })
  }
  return days
}

function buildQuery(period: Period, names: readonly string[] | undefined): Omit<RollupQuery, 'granularity'> {
  const expected = names && new Set(names)
  const matches = (value: string | null) => value !== null && (expected?.has(value) ?? true)
  return {
    ...period,
    dimensions: [{ column: 'external', read: (value) => value }],
    filters: [{ column: 'external', matches, ...(names && { values: names }) }],
    measures: ['requests', 'prompt', 'completion', 'credits', 'byok_fees', 'byok_upstream'],
    histograms: [],
  }
}

function toUsage(group: Group): EndUserUsage[] {
  const [name] = group.values
  if (!name) return []
  return [
    {
      name,
      requests: group.sum('requests'),
      tokens: group.sum('prompt') + group.sum('completion'),
      spend: group.sum('credits') + group.sum('byok_fees'),
      byokUsage: group.sum('byok_upstream'),
    },
  ]
}

function compareSpending(a: EndUserUsage, b: EndUserUsage): number {
  if (a.spend !== b.spend) return a.spend > b.spend ? -1 : 1
  if (a.requests !== b.requests) return a.requests > b.requests ? -1 : 1
  return a.name < b.name ? -1 : 1
}

async function query(gateway: Gateway, organizationId: string, rollupQuery: RollupQuery): Promise<Group[]> {
  try {
    return await queryUsage(gateway, { organizationId, query: rollupQuery, timeoutMs })
  } catch (error) {
    if (error instanceof RollupTimeoutError || error instanceof TooManyGroupsError)
      throw gatewayError('request_timeout', 'The period has too many end users. Query a shorter one.')
    throw error
  }
}
