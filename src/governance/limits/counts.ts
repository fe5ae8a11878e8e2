import type { Logger } from 'pino'
import type { Cluster, Take, WindowRule } from '../../cluster/cluster.ts'
import type { Db } from '../../platform/db/db.ts'
import type { Clock } from '../../platform/time/clock.ts'
import type { AppliedLimit } from './applied-limits.ts'
import {
  type ChangedCount,
  countRecentUse,
  deleteEndedCounts,
  findCount,
  listStoredCounts,
  writeCounts,
} from './count-store.ts'
import type { LimitRule } from './limit-rule.ts'
import { locateInWindow, type WindowPosition } from './window.ts'

/** An amount that was counted in a window of a limit. */
export interface CountedLimit {
  applied: AppliedLimit
  name: string
  amount: number
  take: Take
  position: WindowPosition
}

interface LimitCountsDeps {
  db: Db
  cluster: Cluster
  clock: Clock
  log: Logger
  /** Counts the nodes that share the database. */
  node: { readonly liveNodes: number }
}

/** Counts are written within this time, so that a process that is killed forgets little. */
const writeMs = 1000
/** Counts that are restored at most, and those that wait to be written. */
const maxNames = 100_000
/** Shorter windows end before a process has started again. */
const shortestStored: ReadonlySet<LimitRule['window']> = new Set(['second', null])
/** A correction is counted even beyond the limit. */
const unlimited = Number.MAX_SAFE_INTEGER

/**
 * Counts of requests, tokens and short-term dollars, and of concurrent requests. They are in the memory of the node or
 * on the server that nodes share; the database has what a new process, or a server without its data, continues from.
 */
export class LimitCounts {
  readonly #deps: LimitCountsDeps
  readonly #startedAt: number
  readonly #restored = new Map<string, Promise<void>>()
  #changed = new Map<string, ChangedCount>()
  #timer: Timer | null = null
  #isClosed = false

  constructor(deps: LimitCountsDeps) {
    this.#deps = deps
    this.#startedAt = deps.clock.now()
  }

  /** Counts an amount, unless the limit would be exceeded. */
  async take(applied: AppliedLimit, amount: number, at: number): Promise<CountedLimit> {
    const { rule } = applied
    const position = locateInWindow(rule.window ?? 'lifetime', at)
    const name = nameOf(applied, position.name)
    if (position.start < this.#startedAt) await this.#restore(applied, name, position)
    const take = await this.#take(name, amount, this.#shareOf(rule), position)
    if (take.isTaken)
      this.#markChanged({ name, limitId: rule.id, start: position.start, used: take.used }, rule)
    return { applied, name, amount, take, position }
  }

  /** Changes what was counted to what was used. */
  async correct(
    { applied: { rule }, name, amount, take, position }: CountedLimit,
    used: number,
  ): Promise<void> {
    const difference = used - amount
    if (difference === 0) return
    if (difference < 0) await this.#deps.cluster.refund(name, -difference, take, position.windowMs)
    else await this.#take(name, difference, unlimited, position)
    const total = Math.max(0, take.used + difference)
    this.#markChanged({ name, limitId: rule.id, start: position.start, used: total }, rule)
  }

  /** Occupies a slot among concurrent requests; null if all are occupied. */
  async acquire(applied: AppliedLimit): Promise<string | null> {
    const name = nameOf(applied, '')
    return (await this.#deps.cluster.acquire(name, this.#shareOf(applied.rule))) ? name : null
  }

  release(slot: string): void {
    this.#deps.cluster.release(slot)
  }

  /** What a limit has counted in its present window, by counter. */
  async list(rule: LimitRule, now: number): Promise<[counter: string, used: bigint][]> {
    if (rule.window === null) return []
    await this.write()
    const { name: window, start } = locateInWindow(rule.window, now)
    const prefix = nameOf({ rule, counter: '' }, window)
    const stored = await listStoredCounts(this.#deps.db, rule.id, start)
    const counters = rule.per.length === 0 ? [''] : stored.map(({ name }) => name.slice(prefix.length))
    return Promise.all(
      counters.map(async (counter): Promise<[string, bigint]> => {
        const { take } = await this.take({ rule, counter, counts: null, isPartial: false }, 0, now)
        return [counter, BigInt(take.used)]
      }),
    )
  }

  #take(name: string, amount: number, limit: number, position: WindowPosition): Take | Promise<Take> {
    const { windowMs, kind, now } = position
    const rule: WindowRule = { limit, windowMs, kind }
    return this.#deps.cluster.take(name, amount, rule, now)
  }

  /** Nodes without a server that counts for all of them have a share each. */
  #shareOf({ amount }: LimitRule): number {
    const limit = Number(amount)
    const nodes = this.#deps.cluster.status.kind === 'memory' ? this.#deps.node.liveNodes : 1
    return limit < 1 ? limit : Math.max(1, Math.floor(limit / nodes))
  }

  /** Continues a window that began before this process. */
  #restore(applied: AppliedLimit, name: string, position: WindowPosition): Promise<void> {
    const key = `${name} ${position.start}`
    const running = this.#restored.get(key)
    if (running) return running
    if (this.#restored.size >= maxNames) return Promise.resolve()
    const restoring = this.#addStored(applied, name, position)
    this.#restored.set(key, restoring)
    restoring.catch(() => this.#restored.delete(key))
    return restoring
  }

  async #addStored({ rule, counter }: AppliedLimit, name: string, position: WindowPosition): Promise<void> {
    const { db, cluster } = this.#deps
    // Only one of the nodes that share a server restores what that has lost.
    const mark = `restored ${name} ${position.start}`
    if (!(await cluster.compareAndSet(mark, null, '1', 2 * position.windowMs))) return
    const stored = await findCount(db, name, position)
    const isAlone = cluster.status.kind === 'memory'
    const recent = isAlone
      ? await countRecentUse(db, { rule, counter, stored, until: this.#startedAt, from: position.start })
      : 0
    const used = (stored?.used ?? 0) + recent
    if (used > 0) await this.#take(name, used, unlimited, position)
  }

  #markChanged(changed: ChangedCount, rule: LimitRule): void {
    if (shortestStored.has(rule.window) || (changed.used === 0 && !this.#changed.has(changed.name))) return
    if (this.#changed.size >= maxNames && !this.#changed.has(changed.name)) return
    this.#changed.set(changed.name, changed)
    this.#schedule()
  }

  #schedule(): void {
    if (!this.#isClosed) this.#timer ??= setTimeout(() => void this.write(), writeMs).unref()
  }

  async write(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    if (this.#changed.size === 0) return
    const changed = this.#changed
    this.#changed = new Map()
    try {
      await writeCounts(this.#deps.db, [...changed.values()], this.#deps.clock.now())
    } catch (err) {
      this.#deps.log.warn({ err }, 'counts of limits not written')
      for (const [name, count] of changed) if (!this.#changed.has(name)) this.#changed.set(name, count)
      this.#schedule()
    }
  }

  /** Writes what has changed, for the last time. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.write()
  }

  /** Deletes the counts of windows that have ended. */
  deleteEnded(): Promise<void> {
    return deleteEndedCounts(this.#deps.db, this.#deps.clock.now())
  }
}

function nameOf({ rule, counter }: Pick<AppliedLimit, 'rule' | 'counter'>, window: string): string {
  return `limit ${rule.id} ${window} ${counter}`
}
