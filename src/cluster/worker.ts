import type { Logger } from 'pino'
import type { Peer } from '../platform/process/peer.ts'
import { withDeadline } from '../platform/time/deadline.ts'
import type { Cluster, ClusterStatus, Lease, Take, WindowRule } from './cluster.ts'
import type { ClusterHost } from './host.ts'
import { WindowCounts } from './window-counts.ts'

/** The process that started the workers does little else than answer them. */
const timeoutMs = 250
/** How late its answer about a slot is still heard: one of the two processes was paused. */
const maxLateMs = 60_000

interface WorkerClusterOptions {
  /** The process that started this one. */
  host: Peer<ClusterHost>
  /** The number of workers, which share the limits if the host does not answer. */
  workers: number
  log: Logger
}

type Listener = (message: string) => void

/** The cluster of the workers of one server, in the memory of the process that started them. */
export class WorkerCluster implements Cluster {
  readonly status: ClusterStatus = {
    kind: 'workers',
    isConnected: true,
    operations: 0,
    timeouts: 0,
    errors: 0,
    fallbacks: 0,
  }
  readonly #host: Peer<ClusterHost>
  readonly #workers: number
  readonly #log: Logger
  readonly #listeners = new Map<string, Set<Listener>>()
  /** What this worker has taken, with the host or alone. */
  readonly #local = new WindowCounts()
  /** Slots that this worker has acquired, and those among them that the host does not know. */
  readonly #slots = new Map<string, { all: number; alone: number }>()

  constructor({ host, workers, log }: WorkerClusterOptions) {
    this.#host = host
    this.#workers = workers
    this.#log = log
  }

  async take(name: string, amount: number, rule: WindowRule, now: number): Promise<Take> {
    const take = await this.#attempt(null, () => this.#host.call('take', timeoutMs, name, amount, rule, now))
    if (take?.isTaken) this.#local.add(name, amount, rule.windowMs, now)
    return take ?? this.#local.take(name, amount, { ...rule, limit: this.#shareOf(rule.limit) }, now)
  }

  async refund(name: string, amount: number, take: Take, windowMs: number): Promise<void> {
    this.#local.refund(name, amount, take, windowMs)
    this.#host.notify('refund', name, amount, take, windowMs)
  }

  async acquire(name: string, limit: number): Promise<boolean> {
    const acquiring = this.#host.call('acquire', maxLateMs, name, limit)
    const isFree = await this.#attempt(null, () => withDeadline(timeoutMs, acquiring, lateError))
    const slots = this.#slots.get(name) ?? { all: 0, alone: 0 }
    const isAcquired = isFree ?? slots.all < this.#shareOf(limit)
    if (isAcquired) {
      slots.all++
      if (isFree === null) slots.alone++
      this.#slots.set(name, slots)
    }
    if (isFree === null) void acquiring.then((isOccupied) => isOccupied && this.#useLate(name)).catch(ignore)
    return isAcquired
  }

  /** The host has occupied a slot after this worker stopped waiting for it. */
  #useLate(name: string): void {
    const slots = this.#slots.get(name)
    if (slots && slots.alone > 0) slots.alone--
    else this.#host.notify('release', name)
  }

  release(name: string): void {
    const slots = this.#slots.get(name)
    if (!slots) return
    if (slots.alone > 0) slots.alone--
    else this.#host.notify('release', name)
    if (--slots.all === 0) this.#slots.delete(name)
  }

  get(name: string): Promise<string | null> {
    return this.#attempt(null, () => this.#host.call('get', timeoutMs, name))
  }

  async set(name: string, value: string, ttlMs: number): Promise<void> {
    await this.#attempt(undefined, () => this.#host.call('set', timeoutMs, name, value, ttlMs))
  }

  compareAndSet(name: string, expected: string | null, value: string, ttlMs: number): Promise<boolean> {
    const run = () => this.#host.call('compareAndSet', timeoutMs, name, expected, value, ttlMs)
    return this.#attempt(false, run)
  }

  async delete(name: string): Promise<void> {
    await this.#attempt(undefined, () => this.#host.call('delete', timeoutMs, name))
  }

  publish(channel: string, message: string): void {
    this.#host.notify('publish', channel, message)
  }

  subscribe(channel: string, listener: Listener): void {
    const listeners = this.#listeners.get(channel)
    this.#listeners.set(channel, (listeners ?? new Set()).add(listener))
    if (!listeners) this.#host.notify('subscribe', channel)
  }

  onReconnect(): void {
    // The channel lasts as long as both processes, and loses no message.
  }

  async lease(name: string, ttlMs: number): Promise<Lease | null> {
    const fence = await this.#attempt(null, () => this.#host.call('lease', timeoutMs, name, ttlMs))
    if (fence === null) return null
    return {
      fence,
      renew: () => this.#attempt(false, () => this.#host.call('renewLease', timeoutMs, fence)),
      release: () => this.#host.notify('releaseLease', fence),
    }
  }

  /** The host frees what this worker holds when it ends. */
  async close(): Promise<void> {
    this.status.isConnected = false
  }

  /** Handles a message of another worker. */
  receive(channel: string, message: string): void {
    for (const listener of this.#listeners.get(channel) ?? []) {
      try {
        listener(message)
      } catch (err) {
        this.#log.warn({ err, channel }, 'message of another worker not handled')
      }
    }
  }

  /** At least one: a limit of two among three workers must not stop all of them. */
  #shareOf(limit: number): number {
    return limit < 1 ? limit : Math.max(1, Math.floor(limit / this.#workers))
  }

  async #attempt<T>(fallback: T, run: () => Promise<T>): Promise<T> {
    this.status.operations++
    try {
      return await run()
    } catch {
      this.status.fallbacks++
      return fallback
    }
  }
}

function lateError(): Error {
  return new Error('the host did not answer in time')
}

function ignore(): void {
  // The host has ended, and frees all slots.
}
