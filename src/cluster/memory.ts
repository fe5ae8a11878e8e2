import type { Cluster, ClusterStatus, Lease, Take, WindowRule } from './cluster.ts'
import { WindowCounts } from './window-counts.ts'

interface StoredValue {
  value: string
  until: number
}

interface HeldLease {
  fence: number
  until: number
}

type Listener = (message: string) => void

/** What nodes in one process share. */
export class SharedMemory {
  readonly windows = new WindowCounts()
  readonly slots = new Map<string, number>()
  readonly values = new Map<string, StoredValue>()
  /** Characters of the values. */
  valueSize = 0
  readonly leases = new Map<string, HeldLease>()
  readonly nodes = new Set<MemoryCluster>()
  lastFence = 0
}

/** Values that are stored at a time; those that were stored first are dropped. */
const maxValues = 100_000
const maxValueSize = 64 * 1024 * 1024

/** The cluster of one node. Several in one process can share a memory. */
export class MemoryCluster implements Cluster {
  readonly status: ClusterStatus = {
    kind: 'memory',
    isConnected: true,
    operations: 0,
    timeouts: 0,
    errors: 0,
    fallbacks: 0,
  }
  readonly #memory: SharedMemory
  readonly #monotonicNow: () => number
  readonly #listeners = new Map<string, Set<Listener>>()
  readonly #slots = new Map<string, number>()

  /** `monotonicNow` is a clock that is never adjusted. */
  constructor(memory = new SharedMemory(), monotonicNow: () => number = () => performance.now()) {
    this.#memory = memory
    this.#monotonicNow = monotonicNow
    memory.nodes.add(this)
  }

  take(name: string, amount: number, rule: WindowRule, now: number): Take {
    return this.#memory.windows.take(name, amount, rule, now)
  }

  refund(name: string, amount: number, take: Take, windowMs: number): void {
    this.#memory.windows.refund(name, amount, take, windowMs)
  }

  acquire(name: string, limit: number): boolean {
    const { slots } = this.#memory
    const used = slots.get(name) ?? 0
    if (used >= limit) return false
    slots.set(name, used + 1)
    this.#slots.set(name, (this.#slots.get(name) ?? 0) + 1)
    return true
  }

  release(name: string): void {
    if (!this.#slots.has(name)) return
    subtract(this.#slots, name, 1)
    subtract(this.#memory.slots, name, 1)
  }

  get(name: string): string | null {
    const stored = this.#memory.values.get(name)
    return stored && stored.until > this.#monotonicNow() ? stored.value : null
  }

  set(name: string, value: string, ttlMs: number): void {
    const { values } = this.#memory
    this.delete(name)
    values.set(name, { value, until: this.#monotonicNow() + ttlMs })
    this.#memory.valueSize += value.length
    while (values.size > maxValues || this.#memory.valueSize > maxValueSize)
      this.delete(values.keys().next().value ?? '')
  }

  compareAndSet(name: string, expected: string | null, value: string, ttlMs: number): boolean {
    if (this.get(name) !== expected) return false
    this.set(name, value, ttlMs)
    return true
  }

  delete(name: string): void {
    const { values } = this.#memory
    this.#memory.valueSize -= values.get(name)?.value.length ?? 0
    values.delete(name)
  }

  publish(channel: string, message: string): void {
    for (const node of this.#memory.nodes) if (node !== this) node.#receive(channel, message)
  }

  subscribe(channel: string, listener: Listener): void {
    this.#listeners.set(channel, (this.#listeners.get(channel) ?? new Set()).add(listener))
  }

  onReconnect(): void {
    // Messages in memory are never missed.
  }

  lease(name: string, ttlMs: number): Lease | null {
    const { leases } = this.#memory
    const held = leases.get(name)
    if (held && held.until > this.#monotonicNow()) return null
    const fence = ++this.#memory.lastFence
    leases.set(name, { fence, until: this.#monotonicNow() + ttlMs })
    return {
      fence,
      renew: () => {
        const lease = leases.get(name)
        const isHeld = lease?.fence === fence && lease.until > this.#monotonicNow()
        if (isHeld) lease.until = this.#monotonicNow() + ttlMs
        return isHeld
      },
      release: () => {
        if (leases.get(name)?.fence === fence) leases.delete(name)
      },
    }
  }

  async close(): Promise<void> {
    this.#memory.nodes.delete(this)
    for (const [name, count] of this.#slots) subtract(this.#memory.slots, name, count)
    this.#slots.clear()
  }

  #receive(channel: string, message: string): void {
    for (const listener of this.#listeners.get(channel) ?? []) listener(message)
  }
}

function subtract(counts: Map<string, number>, name: string, amount: number): void {
  const rest = (counts.get(name) ?? 0) - amount
  if (rest > 0) counts.set(name, rest)
  else counts.delete(name)
}
