import { api, type Schemas } from '../../api/client.ts'
import { type Range, type RankingName, rankings, toApiTime } from './search.ts'

type QueryBody = Schemas['AnalyticsQueryRequest']
export type Row = Schemas['AnalyticsResult']['data'][number]

const refreshMs = 60_000
/** Rows of a list; one more where some requests have no such owner. */
export const topCount = 5

/** What the screen is about: a period, and the workspace of the menu; null for all. */
export interface Selection {
  range: Range
  workspaceId: string | null
}

function analyticsQuery({ range, workspaceId }: Selection, body: Partial<QueryBody>) {
  const ofWorkspace = { field: 'workspace', operator: 'eq' as const, value: workspaceId ?? '' }
  return {
    ...api.queryOptions('post', '/analytics/query', {
      body: {
        metrics: [],
        dimensions: [],
        limit: 1000,
        filters: workspaceId === null ? [] : [ofWorkspace],
        time_range: { start: toApiTime(range.start), end: toApiTime(range.end) },
        ...body,
      },
    }),
    staleTime: refreshMs / 2,
    refetchInterval: refreshMs,
  }
}

const figureFields = [
  'total_usage',
  'request_count',
  'error_count',
  'error_rate',
  'p50_latency',
  'p95_latency',
  'tokens_total',
] as const

/** All figures of a period. */
export function figuresQuery(selection: Selection) {
  return analyticsQuery(selection, { metrics: [...figureFields] })
}

/** All figures of a period, by hour or day. */
export function courseQuery(selection: Selection, granularity: 'hour' | 'day') {
  return analyticsQuery(selection, { metrics: [...figureFields], granularity })
}

type DimensionField = NonNullable<QueryBody['dimensions']>[number]

/** The largest groups of a period. */
export function topQuery(selection: Selection, dimension: DimensionField, by: RankingName) {
  return analyticsQuery(selection, {
    metrics: [rankings[by].field],
    dimensions: [dimension],
    order_by: { field: rankings[by].field, direction: 'desc' },
    limit: topCount + 1,
  })
}

/** The newest requests that failed or were refused within a week. */
export function failuresQuery({ range, workspaceId }: Selection) {
  const query = {
    ...{ status: 'error', limit: 8, from: toApiTime(range.start) },
    ...(workspaceId !== null && { workspace_id: workspaceId }),
  }
  return {
    ...api.queryOptions('get', '/generations', { params: { query } }),
    refetchInterval: refreshMs,
  }
}

/** The budgets of which most is used. */
export function budgetsQuery({ workspaceId }: Pick<Selection, 'workspaceId'>) {
  const query = { limit: 6, ...(workspaceId !== null && { workspace_id: workspaceId }) }
  return { ...api.queryOptions('get', '/budgets/nearest', { params: { query } }), refetchInterval: refreshMs }
}

export const creditsQuery = api.queryOptions('get', '/credits')

export const healthQuery = { ...api.queryOptions('get', '/providers/health'), refetchInterval: refreshMs / 2 }
