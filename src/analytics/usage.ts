import type { Group } from './rollups/aggregator.ts'
import { type QueryRequest, queryRollups } from './rollups/query.ts'
import { type AnalyticsStores, readRecent } from './stores.ts'

/** Queries usage, in ClickHouse if it is there. The result is the same. */
export function queryUsage(stores: AnalyticsStores, request: QueryRequest): Promise<Group[]> {
  const { clickhouse } = stores
  return readRecent(stores, (db) => {
    const fromRollups = () => queryRollups(db, request)
    return clickhouse
      ? clickhouse.readOr(() => clickhouse.queryUsage(db, request), fromRollups)
      : fromRollups()
  })
}
