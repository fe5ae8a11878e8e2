import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { MinuteRateLimiter, type RateLimiter } from '../platform/concurrency/rate-limiter.ts'
import type { Cluster } from './cluster.ts'
import { MemoryCluster } from './memory.ts'
import { SharedRateLimiter } from './shared-rate-limiter.ts'

interface SharedState {
  cluster: Cluster
  rateLimiter: RateLimiter
}

interface ClusterDeps {
  log: Logger
  liveNodes: () => number
  /** What the workers of this server share without REDIS_URL; null if this process serves alone. */
  workerCluster: Cluster | null
}

/** The client library is loaded only where it is used. A server that is away does not prevent the start. */
export async function openSharedState(
  { redis: config, workers }: Pick<Config, 'redis' | 'workers'>,
  { log, liveNodes, workerCluster }: ClusterDeps,
): Promise<SharedState> {
  if (!config && workerCluster) {
    const liveNodes = () => workers.count
    const rateLimiter = new SharedRateLimiter({ cluster: workerCluster, liveNodes })
    return { cluster: workerCluster, rateLimiter }
  }
  if (!config) return { cluster: new MemoryCluster(), rateLimiter: new MinuteRateLimiter() }
  const { ValkeyCluster } = await import('./valkey.ts')
  const cluster = new ValkeyCluster(config, { log, liveNodes })
  await cluster.open()
  return { cluster, rateLimiter: new SharedRateLimiter({ cluster, liveNodes }) }
}
