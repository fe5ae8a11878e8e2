import type { Lease, Take, WindowRule } from './cluster.ts'
import { MemoryCluster, type SharedMemory } from './memory.ts'

/** The operations that the workers of one server call in the process that started them. */
export interface ClusterHost {
  take(name: string, amount: number, rule: WindowRule, now: number): Take
  refund(name: string, amount: number, take: Take, windowMs: number): void
  acquire(name: string, limit: number): boolean
  release(name: string): void
  get(name: string): string | null
  set(name: string, value: string, ttlMs: number): void
  compareAndSet(name: string, expected: string | null, value: string, ttlMs: number): boolean
  delete(name: string): void
  publish(channel: string, message: string): void
  subscribe(channel: string): void
  /** Returns its fencing number. */
  lease(name: string, ttlMs: number): number | null
  renewLease(fence: number): boolean | Promise<boolean>
  releaseLease(fence: number): void
}

/** The part of one worker: its slots are free once it is closed. `deliver` sends it the messages of others. */
export function createClusterHost(
  memory: SharedMemory,
  deliver: (channel: string, message: string) => void,
): { host: ClusterHost; close: () => Promise<void> } {
  const cluster = new MemoryCluster(memory)
  const channels = new Set<string>()
  const leases = new Map<number, Lease>()
  // Higher than those of an earlier start.
  memory.lastFence = Math.max(memory.lastFence, Date.now() * 1000)
  const host: ClusterHost = {
    take: (...args) => cluster.take(...args),
    refund: (...args) => cluster.refund(...args),
    acquire: (...args) => cluster.acquire(...args),
    release: (name) => cluster.release(name),
    get: (name) => cluster.get(name),
    set: (...args) => cluster.set(...args),
    compareAndSet: (...args) => cluster.compareAndSet(...args),
    delete: (name) => cluster.delete(name),
    publish: (...args) => cluster.publish(...args),
    subscribe: (channel) => {
      if (!channels.has(channel)) cluster.subscribe(channel, (message) => deliver(channel, message))
      channels.add(channel)
    },
    lease: (...args) => {
      const lease = cluster.lease(...args)
      if (lease) leases.set(lease.fence, lease)
      return lease?.fence ?? null
    },
    renewLease: async (fence) => {
      const isHeld = (await leases.get(fence)?.renew()) ?? false
      if (!isHeld) leases.delete(fence)
      return isHeld
    },
    releaseLease: (fence) => {
      void leases.get(fence)?.release()
      leases.delete(fence)
    },
  }
  return { host, close: () => cluster.close() }
}
