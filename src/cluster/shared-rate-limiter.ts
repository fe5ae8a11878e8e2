import { minuteLimitError, minuteMs, type RateLimiter } from '../platform/concurrency/rate-limiter.ts'
import type { Cluster, WindowRule } from './cluster.ts'

/** Limits up to this one are counted request by request. */
const maxExactLimit = 10_000
/** Of a higher limit, a node takes blocks: this share of it, divided among the nodes. */
const blockShare = 1 / 128
const maxNames = 100_000

/** What is left of the requests that a node has taken in advance. */
interface Block {
  windowStart: number
  left: number
  /** The next block, while it is being taken. */
  taking: Promise<boolean> | null
}

interface LimiterOptions {
  cluster: Cluster
  liveNodes: () => number
}

/**
 * A fixed window of one minute, counted by all nodes together. A request with a high limit rarely waits for the count:
 * up to 1/128 of the limit may be unused on other nodes when it is reached.
 */
export class SharedRateLimiter implements RateLimiter {
  readonly #cluster: Cluster
  readonly #liveNodes: () => number
  readonly #blocks = new Map<string, Block>()

  constructor({ cluster, liveNodes }: LimiterOptions) {
    this.#cluster = cluster
    this.#liveNodes = liveNodes
  }

  async consume(name: string, limit: number, now: number, message: string): Promise<void> {
    if (!(await this.tryConsume(name, limit, now))) throw minuteLimitError(message, limit, now)
  }

  tryConsume(name: string, limit: number, now: number): boolean | Promise<boolean> {
    if (limit <= maxExactLimit) return this.#take(name, 1, limit, now)
    const block = this.#findBlock(name, now)
    if (block.left === 0) return this.#takeBlock(block, name, limit, now)
    block.left--
    return true
  }

  async #take(name: string, amount: number, limit: number, now: number): Promise<boolean> {
    const rule: WindowRule = { limit, windowMs: minuteMs, kind: 'fixed' }
    return (await this.#cluster.take(`minute ${name}`, amount, rule, now)).isTaken
  }

  #findBlock(name: string, now: number): Block {
    const windowStart = now - (now % minuteMs)
    const known = this.#blocks.get(name)
    if (known?.windowStart === windowStart) return known
    const block: Block = { windowStart, left: 0, taking: null }
    this.#blocks.delete(name)
    this.#blocks.set(name, block)
    if (this.#blocks.size > maxNames) this.#blocks.delete(this.#blocks.keys().next().value ?? '')
    return block
  }

  /** Requests that arrive meanwhile share the block; one that gets nothing of it is counted alone. */
  async #takeBlock(block: Block, name: string, limit: number, now: number): Promise<boolean> {
    block.taking ??= this.#fillBlock(block, name, limit, now)
    if (!(await block.taking) || block.left === 0) return this.#take(name, 1, limit, now)
    block.left--
    return true
  }

  async #fillBlock(block: Block, name: string, limit: number, now: number): Promise<boolean> {
    const size = Math.floor((limit * blockShare) / Math.max(1, this.#liveNodes()))
    try {
      const isTaken = size > 1 && (await this.#take(name, size, limit, now))
      if (isTaken) block.left += size
      return isTaken
    } finally {
      block.taking = null
    }
  }
}
