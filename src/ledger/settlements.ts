import type { Db } from '../db/db.ts'
import { addKeyUsage, type Generation, insertGenerations } from './generations.ts'

/** What else is written in the transaction of a settlement. */
export type Companion = (tx: Db) => Promise<void>

interface Waiting {
  generation: Generation
  companion: Companion | undefined
  done: () => void
  failed: (error: unknown) => void
}

/** Bounds the number of parameters in one statement. */
const mostAtOnce = 64

/**
 * Group commit: a settlement waits for the commit that is running, then goes into the next one together
 * with all others that came meanwhile. There is no timer: a quiet gateway commits at once.
 */
export class Settlements {
  readonly #db: Db
  #waiting: Waiting[] = []
  #running = false

  constructor(db: Db) {
    this.#db = db
  }

  /** Resolves when the charge is durable. */
  settle(generation: Generation, companion?: Companion): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting.push({ generation, companion, done: resolve, failed: reject })
    if (!this.#running) void this.#run()
    return promise
  }

  async #run(): Promise<void> {
    this.#running = true
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, mostAtOnce)
      await this.#commit(batch)
    }
    this.#running = false
  }

  /** When a batch fails, each of its settlements is tried alone: one bad row must not cost the others theirs. */
  async #commit(batch: Waiting[]): Promise<void> {
    try {
      await this.#write(batch)
      for (const { done } of batch) done()
    } catch (error) {
      const [only] = batch
      if (batch.length === 1 && only) only.failed(error)
      else for (const one of batch) await this.#commit([one])
    }
  }

  async #write(batch: Waiting[]): Promise<void> {
    const generations = batch.map(({ generation }) => generation)
    await this.#db.transaction().execute(async (tx) => {
      await insertGenerations(tx, generations)
      await addKeyUsage(tx, generations)
      for (const { companion } of batch) await companion?.(tx)
    })
  }
}
