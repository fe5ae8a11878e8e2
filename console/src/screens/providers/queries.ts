import { api, type Schemas } from '../../api/client.ts'
import { lastMonth } from '../../components/use-spend.ts'

export type ByokKey = Schemas['ByokKey']
export type ProviderHealth = Schemas['ProviderHealth']

/** The API has no larger pages. */
const pageSize = 100
const refreshMs = 10_000
const hourMs = 3_600_000

/** Health changes by the second. */
export const healthOptions = {
  ...api.queryOptions('get', '/providers/health'),
  refetchInterval: refreshMs,
}

export function byokOptions(workspaceId: string | null, provider?: string) {
  const query = {
    limit: pageSize,
    ...(workspaceId !== null && { workspace_id: workspaceId }),
    ...(provider !== undefined && { provider }),
  }
  return api.queryOptions('get', '/byok', { params: { query } })
}

export function byokHealthOptions(workspaceId: string | null, provider: string) {
  const query = { limit: pageSize, provider, ...(workspaceId !== null && { workspace_id: workspaceId }) }
  return { ...api.queryOptions('get', '/byok/health', { params: { query } }), refetchInterval: refreshMs }
}

export function endpointsOptions(provider: string, offset: number) {
  const query = { provider, limit: endpointPageSize, ...(offset > 0 && { offset }) }
  return {
    ...api.queryOptions('get', '/endpoints/health', { params: { query } }),
    refetchInterval: refreshMs,
  }
}

export const endpointPageSize = 25

/** The newest requests that failed at the provider in the hour before. */
export function errorsOptions(provider: string, now: number) {
  const query = { provider, status: 'failed', from: toIso(now - hourMs), limit: 10 }
  return { ...api.queryOptions('get', '/generations', { params: { query } }), refetchInterval: refreshMs }
}

/** Spend and requests of each provider in the last 30 days. */
export function spendOptions(now = Date.now()) {
  return {
    ...api.queryOptions('post', '/analytics/query', {
      body: {
        metrics: ['total_usage', 'request_count'],
        dimensions: ['provider'],
        filters: [],
        time_range: lastMonth(now),
        limit: 1000,
      },
    }),
    staleTime: 300_000,
  }
}

function toIso(time: number): string {
  return new Date(time).toISOString().replace(/[.]\d+Z$/, 'Z')
}

/** The spend of a provider in the rows of `spendOptions`. */
export function spendOf(
  rows: Record<string, string | number | null>[],
  { provider, provider_name }: Pick<ProviderHealth, 'provider' | 'provider_name'>,
): number {
  return rows
    .filter((row) => row.provider === provider || row.provider === provider_name)
    .reduce((sum, row) => sum + Number(row.total_usage ?? 0), 0)
}
