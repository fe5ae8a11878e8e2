import { FairThread, type TaskLimits, type TaskQuota } from '../concurrency/fair-thread.ts'
import type { JsonObject } from './json-values.ts'

export interface RepairedJson {
  text: string
  /** Null if there is no schema, or none that can be checked. */
  matchesSchema: boolean | null
}

interface RepairLimits extends TaskLimits {
  characters: number
}

const defaultLimits: RepairLimits = {
  characters: 1_000_000,
  milliseconds: 2_000,
  growthBytes: 256 * 1024 * 1024,
}

/** Repairs JSON that a model wrote, on a thread of its own: what it wrote can take long to repair. */
export class JsonRepairer {
  readonly #limits: RepairLimits
  readonly #thread: FairThread

  constructor(limits: Partial<RepairLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits }
    this.#thread = new FairThread(new URL('./json-repair-worker.ts', import.meta.url), this.#limits)
  }

  /** The same text if it is valid JSON already; null if it cannot be repaired. */
  async repair(text: string, schema: JsonObject | null, quota: TaskQuota): Promise<RepairedJson | null> {
    if (text.length > this.#limits.characters) return null
    return (await this.#thread.run({ schema }, [text], quota)) as RepairedJson | null
  }

  stop(): void {
    this.#thread.stop()
  }
}
