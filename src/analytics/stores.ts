import type { Db } from '../platform/db/db.ts'
import type { ReadReplica } from '../platform/db/read-replica.ts'
import type { ClickHouseStore } from './clickhouse/clickhouse-store.ts'

/** The database, and a replica of it. */
export interface DatabaseReaders {
  db: Db
  /** Null without DATABASE_REPLICA_URL. */
  replica: ReadReplica | null
}

/** Where analytics are read from. */
export interface AnalyticsStores extends DatabaseReaders {
  /** Null without CLICKHOUSE_URL. */
  clickhouse: ClickHouseStore | null
}

/** Reads what may be some seconds old: from the replica if it is there and close enough, otherwise from the database. */
export function readRecent<T>({ db, replica }: DatabaseReaders, read: (db: Db) => Promise<T>): Promise<T> {
  return replica ? replica.readOr(db, read) : read(db)
}
