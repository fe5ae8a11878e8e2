import { readStoredHistogram, readStoredLogPage } from '../clickhouse/request-log.ts'
import { type AnalyticsStores, readRecent } from '../stores.ts'
import { type Histogram, readHistogram } from './histogram.ts'
import { searchLog } from './search.ts'
import type { LogSelection } from './selection.ts'
import type { LogPage, LogPosition } from './walk.ts'

/** A page of the requests that match, newest first: generations of ClickHouse if it is there. */
export function findLogPage(
  stores: AnalyticsStores,
  selection: LogSelection,
  page: { limit: number; start: LogPosition | null },
): Promise<LogPage> {
  const { clickhouse } = stores
  return readRecent(stores, (db) => {
    const search = () => searchLog(db, selection, page)
    return clickhouse
      ? clickhouse.readOr(() => readStoredLogPage(clickhouse, db, selection, page), search)
      : search()
  })
}

/** Requests that match, by the time of their arrival. */
export function countLog(
  stores: AnalyticsStores,
  selection: LogSelection & { from: string; to: string },
  count: number,
): Promise<Histogram> {
  const { clickhouse } = stores
  return readRecent(stores, (db) => {
    const walk = () => readHistogram(db, selection, count)
    return clickhouse
      ? clickhouse.readOr(() => readStoredHistogram(clickhouse, db, selection, count), walk)
      : walk()
  })
}
