import type { Logger } from 'pino'
import type { RedisConfig } from '../config/redis.ts'
import { MinuteRateLimiter, type RateLimiter } from '../platform/concurrency/rate-limiter.ts'
import type { Cluster } from './cluster.ts'
import { MemoryCluster } from './memory.ts'
import { SharedRateLimiter } from './shared-rate-limiter.ts'

interface SharedState {
  cluster: Cluster
  rateLimiter: RateLimiter
}

/** The client library is loaded only where it is used. A server that is away does not prevent the start. */
export async function openSharedState(
  config: RedisConfig | null,
  log: Logger,
  liveNodes: () => number,
): Promise<SharedState> {
  if (!config) return { cluster: new MemoryCluster(), rateLimiter: new MinuteRateLimiter() }
  const { ValkeyCluster } = await import('./valkey.ts')
  const cluster = new ValkeyCluster(config, { log, liveNodes })
  await cluster.open()
  return { cluster, rateLimiter: new SharedRateLimiter({ cluster, liveNodes }) }
}
