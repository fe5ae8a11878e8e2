import { z } from 'zod'
import type { FailureKind } from '../../formats/call/failure.ts'
import type { Db } from '../../platform/db/db.ts'
import type { Clock } from '../../platform/time/clock.ts'
import { runInSlices } from '../../platform/time/time-slicer.ts'
import { type SlotCounts, slotMs } from './attempt-history.ts'
import type { LastFailure } from './endpoint-stats.ts'
import type { EndpointHealth } from './health.ts'
import type { HealthRegistry } from './health-registry.ts'

/** Five minutes each, over 24 hours. */
const slotsPerDay = 288
/** The newest ones are read at a start. */
const maxRestored = 200_000
const rowsPerStatement = 100

/** Another version may know other kinds. */
const storedFailure = z.object({
  kind: z.string().transform((kind) => kind as FailureKind),
  status: z.int().nullable(),
  at: z.number(),
})

interface HealthHistoryParts {
  db: Db
  clock: Clock
  health: HealthRegistry
}

interface PendingRow {
  slot: number
  endpoint: string
  /** Attempts since the last save. */
  added: SlotCounts
  /** All attempts of this process in the slot. */
  total: SlotCounts
  failure: LastFailure | null
}

/**
 * Stores the attempts at every endpoint and its last failure, so that a new process does not begin without them. Requests
 * do not wait for it. Every process adds its own attempts.
 */
export class HealthHistory {
  readonly #parts: HealthHistoryParts
  /** What is stored of the newest slot of each endpoint. */
  readonly #stored = new Map<string, { slot: number; total: SlotCounts }>()
  #savedSlot = 0
  #savedAt = 0
  #saving: Promise<unknown> = Promise.resolve()

  private constructor(parts: HealthHistoryParts) {
    this.#parts = parts
  }

  static async open(parts: HealthHistoryParts): Promise<HealthHistory> {
    const history = new HealthHistory(parts)
    await history.#restore()
    return history
  }

  /** Writes what is new. Returns whether there was anything. */
  save(): Promise<boolean> {
    const saved = this.#saving.then(() => this.#write())
    this.#saving = saved.catch(() => undefined)
    return saved
  }

  async #restore(): Promise<void> {
    const { db, clock, health } = this.#parts
    const now = clock.now()
    this.#savedAt = now
    this.#savedSlot = Math.floor(now / slotMs)
    const rows = await db
      .selectFrom('endpoint_health')
      .selectAll()
      .where('slot', '>', this.#savedSlot - slotsPerDay)
      .where('slot', '<=', this.#savedSlot)
      .orderBy('slot', 'desc')
      .limit(maxRestored)
      .execute()
    for (const { slot, endpoint, last_failure, succeeded, failed } of rows) {
      const entry = health.getOrCreate(endpoint)
      entry.history.restoreSlot(now, slot * slotMs, { succeeded, failed })
      const failure = last_failure === null ? null : parseFailure(last_failure)
      if (failure) entry.restoreFailure(failure)
      if (slot === this.#savedSlot) this.#stored.set(endpoint, { slot, total: { succeeded, failed } })
    }
  }

  async #write(): Promise<boolean> {
    const now = this.#parts.clock.now()
    const slot = Math.floor(now / slotMs)
    await this.#deleteForgotten()
    const rows: PendingRow[] = []
    await runInSlices(this.#collect(slot, rows))
    for (let start = 0; start < rows.length; start += rowsPerStatement)
      await this.#add(rows.slice(start, start + rowsPerStatement))
    if (slot !== this.#savedSlot) await this.#deleteBefore(slot)
    this.#savedSlot = slot
    this.#savedAt = now
    return rows.length > 0
  }

  *#collect(current: number, rows: PendingRow[]): Generator<void> {
    const first = Math.max(this.#savedSlot, current - slotsPerDay + 1)
    // A copy: requests move an endpoint to the end of the registry.
    for (const [endpoint, health] of [...this.#parts.health.listAll()]) {
      for (let slot = first; slot <= current; slot++) {
        const total = health.history.getSlot(slot * slotMs)
        const added = this.#subtractStored(endpoint, slot, total)
        const failure = slot === current ? this.#findNewFailure(health) : null
        if (failure || added.succeeded > 0 || added.failed > 0)
          rows.push({ slot, endpoint, added, total, failure })
      }
      yield
    }
  }

  #subtractStored(endpoint: string, slot: number, total: SlotCounts): SlotCounts {
    const stored = this.#stored.get(endpoint)
    if (!stored || stored.slot < slot) return total
    if (stored.slot > slot) return { succeeded: 0, failed: 0 }
    const succeeded = total.succeeded - stored.total.succeeded
    const failed = total.failed - stored.total.failed
    // An endpoint that was evicted from the registry counts from zero again.
    return succeeded < 0 || failed < 0 ? total : { succeeded, failed }
  }

  #findNewFailure({ lastFailure }: EndpointHealth): LastFailure | null {
    return lastFailure && lastFailure.at >= this.#savedAt ? lastFailure : null
  }

  async #add(rows: readonly PendingRow[]): Promise<void> {
    await this.#parts.db
      .insertInto('endpoint_health')
      .values(
        rows.map(({ slot, endpoint, added, failure }) => ({
          slot,
          endpoint,
          ...added,
          last_failure: failure && JSON.stringify(failure),
        })),
      )
      .onConflict((conflict) =>
        conflict.columns(['slot', 'endpoint']).doUpdateSet((eb) => ({
          succeeded: eb('endpoint_health.succeeded', '+', eb.ref('excluded.succeeded')),
          failed: eb('endpoint_health.failed', '+', eb.ref('excluded.failed')),
          last_failure: eb.fn.coalesce('excluded.last_failure', 'endpoint_health.last_failure'),
        })),
      )
      .execute()
    for (const { endpoint, slot, total } of rows) this.#stored.set(endpoint, { slot, total })
  }

  /** Their address or credential has changed. */
  async #deleteForgotten(): Promise<void> {
    const { db, health } = this.#parts
    const forgotten = health.takeForgotten()
    for (const endpoint of forgotten) this.#stored.delete(endpoint)
    for (let start = 0; start < forgotten.length; start += rowsPerStatement)
      await db
        .deleteFrom('endpoint_health')
        .where('endpoint', 'in', forgotten.slice(start, start + rowsPerStatement))
        .execute()
  }

  async #deleteBefore(slot: number): Promise<void> {
    for (const [endpoint, stored] of this.#stored) if (stored.slot < slot) this.#stored.delete(endpoint)
    await this.#parts.db
      .deleteFrom('endpoint_health')
      .where('slot', '<=', slot - slotsPerDay)
      .execute()
  }
}

function parseFailure(json: string): LastFailure | null {
  return storedFailure.safeParse(JSON.parse(json)).data ?? null
}
