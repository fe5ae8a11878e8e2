import { createHmac, randomBytes } from 'node:crypto'

/** Providers keep a prompt for five minutes after it was last read. */
export const cacheLifetimeMs = 300_000

/** A beginning of prompts that were sent. */
interface Sighting {
  at: number
  /** Requests that began with it, each within the lifetime of the one before. */
  count: number
  /** Whether it was a whole prompt. */
  isWhole: boolean
}

/**
 * Which beginnings of prompts were sent in the last minutes, so that those that are sent again can be cached. It has
 * hashes under a secret of this process, and no text.
 */
export class PromptHistory {
  /** In the order in which they were sent. */
  readonly #sightings = new Map<string, Sighting>()
  readonly #secret = randomBytes(32)

  get size(): number {
    return this.#sightings.size
  }

  /** Hashes a text that follows another one, by the hash of that. */
  extend(hash: string, text: string): string {
    return createHmac('sha256', this.#secret).update(hash).update('\0').update(text).digest('base64url')
  }

  find(hash: string, now: number): Sighting | undefined {
    const sighting = this.#sightings.get(hash)
    return sighting && now - sighting.at <= cacheLifetimeMs ? sighting : undefined
  }

  record(hash: string, { now, isWhole, max }: { now: number; isWhole: boolean; max: number }): void {
    const earlier = this.find(hash, now)
    this.#sightings.delete(hash)
    for (const oldest of this.#sightings.keys()) {
      if (this.#sightings.size < max) break
      this.#sightings.delete(oldest)
    }
    const count = (earlier?.count ?? 0) + 1
    if (max > 0) this.#sightings.set(hash, { at: now, count, isWhole: isWhole || earlier?.isWhole === true })
  }
}
