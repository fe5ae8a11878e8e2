import { ClickHouseStore } from '../analytics/clickhouse/clickhouse-store.ts'
import { RollupThread } from '../analytics/rollups/rollup-thread.ts'
import { findHeartbeat } from '../ledger/nodes.ts'
import { ReadReplica } from '../platform/db/read-replica.ts'
import type { Gateway } from './gateway.ts'

type AnalyticsParts = Pick<Gateway, 'config' | 'db' | 'clock' | 'metrics' | 'node'>

/** The roll-ups, and what analytics are read from besides the database. */
export function openAnalytics(parts: AnalyticsParts) {
  const { config, db, metrics } = parts
  const clickhouse = config.clickhouse && new ClickHouseStore(config.clickhouse)
  if (clickhouse) metrics.registerClickHouse(clickhouse.status)
  const rollUps = new RollupThread({ url: config.databaseUrl, clickhouse: config.clickhouse }, db)
  return { rollUps, clickhouse, replica: openReplica(parts) }
}

/** Every heartbeat of this node is a write by which the replica shows how far it is behind. */
function openReplica({ config, clock, metrics, node }: AnalyticsParts): ReadReplica | null {
  if (!config.replica) return null
  const replica = new ReadReplica(config.replica.url, {
    poolSize: config.databasePoolSize,
    maxLagMs: config.replica.maxLagMs,
    readLastWrite: (db) => findHeartbeat(db, node.id),
    now: () => clock.now(),
  })
  metrics.registerReplica(replica)
  return replica
}
