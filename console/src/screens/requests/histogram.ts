import type { paths } from '../../api/schema.ts'
import { hasOwnRange, queryOf, type RequestSearch } from './search.ts'

type Reply = paths['/generations/histogram']['get']['responses'][200]['content']['application/json']

export interface Bucket {
  start: string
  requests: number
  /** Refused, failed and canceled ones. */
  errors: number
}

/** The parameters of `GET /generations/histogram`: the filters of the list. All time is shown as 30 days. */
export function histogramQuery(search: RequestSearch, now: number) {
  const isAllTime = search.period === 'all' && !hasOwnRange(search)
  // It counts by records, which have no text and many ids.
  const { text: _text, id: _id, ...filters } = search
  return { ...queryOf(isAllTime ? { ...filters, period: '30d' } : filters, now), buckets: 60 }
}

export function bucketsOf({ data }: Reply): Bucket[] {
  return data.map(({ start, requests, failed, cancelled, refused }) => ({
    start,
    requests,
    errors: failed + cancelled + refused,
  }))
}
