const hourMs = 3_600_000

/** Periods end with the present hour, like those of Activity: the server has the sums of whole hours. */
export const periods = {
  day: { label: '24 hours', ms: 24 * hourMs },
  week: { label: '7 days', ms: 7 * 24 * hourMs },
} as const

export type PeriodName = keyof typeof periods

/** Metrics that rank the models, keys, workspaces and end users. */
export const rankings = {
  spend: { label: 'Spend', field: 'total_usage' },
  requests: { label: 'Requests', field: 'request_count' },
  tokens: { label: 'Tokens', field: 'tokens_total' },
} as const

export type RankingName = keyof typeof rankings

/** The choices of the viewer; what is absent has its default: a day, by spend. */
export interface HomeSearch {
  period?: 'week'
  by?: Exclude<RankingName, 'spend'>
}

export function readHomeSearch({ period, by }: Record<string, unknown>): HomeSearch {
  return {
    ...(period === 'week' && { period }),
    ...((by === 'requests' || by === 'tokens') && { by }),
  }
}

/** Half-open, in milliseconds. */
export interface Range {
  start: number
  end: number
}

/** The period that ends with the hour of `now`, or the one before it. */
export function rangeOf(period: PeriodName, now: number, isPrevious = false): Range {
  const { ms } = periods[period]
  const end = Math.ceil(now / hourMs) * hourMs - (isPrevious ? ms : 0)
  return { start: end - ms, end }
}

export function toApiTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}
