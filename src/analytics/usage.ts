import type { Db } from '../platform/db/db.ts'
import type { ClickHouseStore } from './clickhouse/clickhouse-store.ts'
import type { Group } from './rollups/aggregator.ts'
import { type QueryRequest, queryRollups } from './rollups/query.ts'

/** Where analytics are read from. */
export interface AnalyticsStores {
  db: Db
  /** Null without CLICKHOUSE_URL. */
  clickhouse: ClickHouseStore | null
}

/** Queries usage, in ClickHouse if it is there. The result is the same. */
export function queryUsage({ db, clickhouse }: AnalyticsStores, request: QueryRequest): Promise<Group[]> {
  const fromRollups = () => queryRollups(db, request)
  return clickhouse ? clickhouse.readOr(() => clickhouse.queryUsage(db, request), fromRollups) : fromRollups()
}
