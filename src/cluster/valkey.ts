import type { Logger } from 'pino'
import type { RedisConfig } from '../config/redis.ts'
import { sha256 } from '../platform/crypto/crypto.ts'
import { newId } from '../platform/crypto/ids.ts'
import type { Cluster, ClusterStatus, Lease, Take, WindowRule } from './cluster.ts'
import { ValkeyLink } from './link.ts'
import { compareScript, extendScript, leaseScript, refundScript, takeScript } from './scripts.ts'
import { SlotCounts } from './slot-counts.ts'
import { WindowCounts } from './window-counts.ts'

interface ValkeyOptions {
  log: Logger
  /** The nodes that share the limits while the server is away. */
  liveNodes: () => number
}

type Listener = (message: string) => void

/** The cluster on a server of Valkey or Redis. Names are stored as hashes: they may contain addresses of people. */
export class ValkeyCluster implements Cluster {
  readonly #link: ValkeyLink
  readonly #log: Logger
  readonly #prefix: string
  readonly #liveNodes: () => number
  readonly #id = newId('member')
  readonly #slots: SlotCounts
  readonly #listeners = new Map<string, Set<Listener>>()
  /** What this node has taken, on the server or alone. */
  readonly #local = new WindowCounts()

  constructor(config: RedisConfig, { log, liveNodes }: ValkeyOptions) {
    this.#link = new ValkeyLink(config, log)
    this.#log = log
    this.#prefix = config.prefix
    this.#liveNodes = liveNodes
    this.#slots = new SlotCounts(this.#link, this.#id, (name) => this.#keyOf('slots', name))
  }

  get status(): ClusterStatus {
    return this.#link.status
  }

  open(): Promise<void> {
    return this.#link.open()
  }

  take(name: string, amount: number, rule: WindowRule, now: number): Take | Promise<Take> {
    return this.#link.isUp
      ? this.#takeShared(name, amount, rule, now)
      : this.#takeAlone(name, amount, rule, now)
  }

  async #takeShared(name: string, amount: number, rule: WindowRule, now: number): Promise<Take> {
    const { limit, windowMs, kind } = rule
    const args = [amount, limit, windowMs, kind === 'sliding' ? 1 : 0, now]
    try {
      const [isTaken, used, windowStart] = readNumbers(
        await this.#link.runScript(this.#keyOf('window', name), takeScript, args),
      )
      if (isTaken === 1) this.#local.add(name, amount, windowMs, now)
      return { isTaken: isTaken === 1, used: used ?? 0, windowStart: windowStart ?? 0 }
    } catch {
      return this.#takeAlone(name, amount, rule, now)
    }
  }

  #takeAlone(name: string, amount: number, rule: WindowRule, now: number): Take {
    this.status.fallbacks++
    return this.#local.take(name, amount, { ...rule, limit: this.#shareOf(rule.limit) }, now)
  }

  /** At least one: a limit of two among three nodes must not stop all of them. */
  #shareOf(limit: number): number {
    return limit < 1 ? limit : Math.max(1, Math.floor(limit / Math.max(1, this.#liveNodes())))
  }

  async refund(name: string, amount: number, take: Take, windowMs: number): Promise<void> {
    this.#local.refund(name, amount, take, windowMs)
    const args = [amount, take.windowStart, windowMs]
    await this.#attempt(undefined, () =>
      this.#link.runScript(this.#keyOf('window', name), refundScript, args),
    )
  }

  acquire(name: string, limit: number): boolean | Promise<boolean> {
    return this.#slots.acquire(name, limit, this.#shareOf(limit))
  }

  release(name: string): void {
    this.#slots.release(name)
  }

  async get(name: string): Promise<string | null> {
    const key = this.#keyOf('value', name)
    const value = await this.#attempt(null, () => this.#link.send(key, ['GET', key]))
    return typeof value === 'string' ? value : null
  }

  async set(name: string, value: string, ttlMs: number): Promise<void> {
    const key = this.#keyOf('value', name)
    await this.#attempt(null, () => this.#link.send(key, ['SET', key, value, 'PX', toMs(ttlMs)]))
  }

  async compareAndSet(name: string, expected: string | null, value: string, ttlMs: number): Promise<boolean> {
    const args = [expected === null ? 0 : 1, expected ?? '', value, toMs(ttlMs)]
    const run = () => this.#link.runScript(this.#keyOf('value', name), compareScript, args)
    return (await this.#attempt(0, run)) === 1
  }

  async delete(name: string): Promise<void> {
    const key = this.#keyOf('value', name)
    await this.#attempt(null, () => this.#link.send(key, ['DEL', key]))
  }

  publish(channel: string, message: string): void {
    this.#link.publish(`${this.#prefix}:${channel}`, `${this.#id} ${message}`)
  }

  subscribe(channel: string, listener: Listener): void {
    const listeners = this.#listeners.get(channel)
    if (listeners) listeners.add(listener)
    else {
      this.#listeners.set(channel, new Set([listener]))
      this.#link.subscribe(`${this.#prefix}:${channel}`, (text) => this.#receive(channel, text))
    }
  }

  /** A node receives its own messages too. */
  #receive(channel: string, text: string): void {
    const end = text.indexOf(' ')
    if (end === -1 || text.slice(0, end) === this.#id) return
    try {
      for (const listener of this.#listeners.get(channel) ?? []) listener(text.slice(end + 1))
    } catch (err) {
      // A node of another version may send something else.
      this.#log.warn({ err, channel }, 'message of another node ignored')
    }
  }

  onReconnect(listener: () => void): void {
    this.#link.onReconnect(listener)
  }

  async lease(name: string, ttlMs: number): Promise<Lease | null> {
    const key = this.#keyOf('lease', name)
    const fence = await this.#attempt('0', () =>
      this.#link.runScript(key, leaseScript, [this.#id, toMs(ttlMs)]),
    )
    if (typeof fence !== 'string' || fence === '0') return null
    const extend = async (ms: string) =>
      (await this.#attempt(0, () => this.#link.runScript(key, extendScript, [this.#id, fence, ms]))) === 1
    return {
      fence: Number(fence),
      renew: () => extend(toMs(ttlMs)),
      release: async () => void (await extend('0')),
    }
  }

  async close(): Promise<void> {
    await this.#slots.close()
    this.#link.close()
  }

  async #attempt(fallback: unknown, work: () => Promise<unknown>): Promise<unknown> {
    try {
      return await work()
    } catch {
      this.status.fallbacks++
      return fallback
    }
  }

  #keyOf(kind: string, name: string): string {
    return `${this.#prefix}:${kind}:${sha256(name).slice(0, 32)}`
  }
}

function readNumbers(reply: unknown): number[] {
  return Array.isArray(reply) ? reply.map(Number) : []
}

function toMs(ms: number): string {
  return String(Math.max(1, Math.ceil(ms)))
}
