import type { Statement } from '../db/batch.ts'
import { type Db, writeBatch } from '../db/db.ts'
import { type Generation, generationStatements, usageStatement } from './generations.ts'

interface Waiting {
  generation: Generation
  companions: readonly Statement[]
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

  /** Resolves when the charge is durable, together with the companions, which are written with it. */
  settle(generation: Generation, companions: readonly Statement[] = []): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting.push({ generation, companions, done: resolve, failed: reject })
    if (!this.#running) this.#start()
    return promise
  }

  /** After what is at hand now: replies that came in together are committed together. */
  #start(): void {
    this.#running = true
    setImmediate(() => void this.#run())
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) await this.#commit(this.#waiting.splice(0, mostAtOnce))
    this.#running = false
  }

  /** When a batch fails, each of its settlements is tried alone: one bad row must not cost the others theirs. */
  async #commit(batch: Waiting[]): Promise<void> {
    try {
      await writeBatch(this.#db, this.#statements(batch))
      for (const { done } of batch) done()
    } catch (error) {
      const [only] = batch
      if (batch.length > 1 || !only) for (const one of batch) await this.#commit([one])
      // What goes along with a charge must not cost us the charge.
      else if (only.companions.length > 0) await this.#commit([{ ...only, companions: [] }])
      else only.failed(error)
    }
  }

  #statements(batch: Waiting[]): Statement[] {
    const generations = batch.map(({ generation }) => generation)
    return [
      ...generationStatements(this.#db, generations),
      usageStatement(this.#db, generations),
      ...batch.flatMap(({ companions }) => companions),
    ]
  }
}
