import type { ValkeyLink } from './link.ts'
import { acquireScript, releaseScript, renewScript } from './scripts.ts'

/** Time until the slots of a dead node are free, and the interval at which a live one renews its own. */
const slotTtlMs = 15_000
const renewMs = 5000
/** Names that are renewed at a time: requests need the connection too. */
const renewedAtOnce = 100

interface OwnSlots {
  /** Acquired by this node, on the server or alone. */
  count: number
  /** Sent to the server, without a reply yet. */
  pending: number
  /** Whether the server may have another number. */
  isUncertain: boolean
}

/** The slots of this node among those of all. */
export class SlotCounts {
  readonly #link: ValkeyLink
  readonly #node: string
  readonly #keyOf: (name: string) => string
  readonly #own = new Map<string, OwnSlots>()
  #timer: ReturnType<typeof setInterval> | null = null

  constructor(link: ValkeyLink, node: string, keyOf: (name: string) => string) {
    this.#link = link
    this.#node = node
    this.#keyOf = keyOf
    // The server may have lost what it knew.
    link.onReconnect(() => {
      for (const own of this.#own.values()) own.isUncertain = true
      void this.renew()
    })
  }

  acquire(name: string, limit: number, share: number): boolean | Promise<boolean> {
    return this.#link.isUp ? this.#acquireShared(name, limit, share) : this.#acquireAlone(name, share)
  }

  async #acquireShared(name: string, limit: number, share: number): Promise<boolean> {
    const own = this.#getOrCreate(name)
    own.pending++
    try {
      const args = [this.#node, limit, slotTtlMs]
      const isFree = await this.#link.runScript(this.#keyOf(name), acquireScript, args)
      if (isFree === 1) own.count++
      return isFree === 1
    } catch {
      // The server may have counted it.
      own.isUncertain = true
      return this.#acquireAlone(name, share)
    } finally {
      own.pending--
      this.#forgetUnused(name, own)
    }
  }

  #acquireAlone(name: string, share: number): boolean {
    this.#link.status.fallbacks++
    const own = this.#getOrCreate(name)
    if (own.count >= share) return false
    own.count++
    own.isUncertain = true
    return true
  }

  #getOrCreate(name: string): OwnSlots {
    const own = this.#own.get(name) ?? { count: 0, pending: 0, isUncertain: false }
    this.#own.set(name, own)
    this.#timer ??= setInterval(() => void this.renew(), renewMs).unref()
    return own
  }

  #forgetUnused(name: string, own: OwnSlots): void {
    if (own.count === 0 && own.pending === 0 && !own.isUncertain) this.#own.delete(name)
  }

  release(name: string): void {
    const own = this.#own.get(name)
    if (!own || own.count === 0) return
    own.count--
    this.#forgetUnused(name, own)
    this.#link.runScript(this.#keyOf(name), releaseScript, [this.#node]).catch(() => {
      // Another slot of the name may have been acquired meanwhile.
      this.#getOrCreate(name).isUncertain = true
    })
  }

  /** Extends the slots of this node, and corrects what the server has of them. */
  async renew(): Promise<void> {
    const names = [...this.#own.keys()]
    for (let at = 0; at < names.length; at += renewedAtOnce)
      await Promise.all(names.slice(at, at + renewedAtOnce).map((name) => this.#renewOne(name)))
    if (this.#own.size > 0 || !this.#timer) return
    clearInterval(this.#timer)
    this.#timer = null
  }

  async #renewOne(name: string): Promise<void> {
    const own = this.#own.get(name)
    if (!own) return
    const { isUncertain, count, pending } = own
    // What is pending may be rejected: then the number is corrected the next time.
    own.isUncertain = isUncertain && pending > 0
    try {
      const args = [this.#node, slotTtlMs, count + pending, isUncertain ? 1 : 0]
      await this.#link.runScript(this.#keyOf(name), renewScript, args)
      this.#forgetUnused(name, own)
    } catch {
      own.isUncertain = true
    }
  }

  /** Frees all slots. */
  async close(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer)
    const keys = [...this.#own.keys()].map(this.#keyOf)
    this.#own.clear()
    await Promise.allSettled(keys.map((key) => this.#link.send(key, ['HDEL', key, this.#node])))
  }
}
