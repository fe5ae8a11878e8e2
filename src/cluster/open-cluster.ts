import type { Logger } from 'pino'
import type { RedisConfig } from '../config.ts'
import type { Cluster } from './cluster.ts'
import { MemoryCluster } from './memory.ts'

/** The client library is loaded only where it is used. A server that is away does not prevent the start. */
export async function openCluster(
  config: RedisConfig | null,
  options: { log: Logger; liveNodes: () => number },
): Promise<Cluster> {
  if (!config) return new MemoryCluster()
  const { ValkeyCluster } = await import('./valkey.ts')
  const cluster = new ValkeyCluster(config, options)
  await cluster.open()
  return cluster
}
