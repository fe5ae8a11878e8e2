import { isRejectedData } from '../../platform/db/batch.ts'
import type { Db } from '../../platform/db/db.ts'
import type { Clock } from '../../platform/time/clock.ts'
import type { RefusedRow } from './walk.ts'

/** Rejected requests of one organization that are recorded in a minute; further ones are only counted. */
export const maxRecordedPerMinute = 120
/** Rows that wait while the database is unavailable; further ones are lost. */
const maxWaiting = 10_000
const rowsPerStatement = 100
const minuteMs = 60_000

interface Window {
  minute: number
  recorded: number
  /** Refused and not recorded, and the last of them. */
  counted: number
  last: RefusedRow | null
}

/** Records refused requests a moment later and together, so that a flood of them costs little. */
export class RejectedRequests {
  readonly #db: Db
  readonly #clock: Clock
  /** Called when something waits to be written. */
  readonly #onAdded: () => void
  readonly #windows = new Map<string, Window>()
  #waiting: RefusedRow[] = []
  /** One at a time. */
  #flushing: Promise<void> = Promise.resolve()

  constructor(db: Db, clock: Clock, onAdded: () => void = () => undefined) {
    this.#db = db
    this.#clock = clock
    this.#onAdded = onAdded
  }

  get isCounting(): boolean {
    return this.#windows.size > 0
  }

  add(row: RefusedRow): void {
    const window = this.#openWindow(row.organization_id)
    if (window.recorded < maxRecordedPerMinute) {
      window.recorded++
      this.#enqueue(row)
    } else {
      window.counted++
      window.last = row
    }
  }

  /** Writes what waits, and what was only counted in minutes that have ended. Throws if the database fails. */
  async flush(isAll = false): Promise<void> {
    const previous = this.#flushing
    const flushing = previous.then(() => this.#writeAll(isAll))
    this.#flushing = flushing.catch(() => undefined)
    await flushing
  }

  async #writeAll(isAll: boolean): Promise<void> {
    const minute = this.#currentMinute()
    for (const [organizationId, window] of this.#windows)
      if (isAll || window.minute !== minute) this.#closeWindow(organizationId, window)
    while (this.#waiting.length > 0) {
      const rows = this.#waiting.slice(0, rowsPerStatement)
      await insertRefused(this.#db, rows)
      this.#waiting.splice(0, rows.length)
    }
  }

  #currentMinute(): number {
    return Math.floor(this.#clock.now() / minuteMs)
  }

  #openWindow(organizationId: string): Window {
    const minute = this.#currentMinute()
    const known = this.#windows.get(organizationId)
    if (known?.minute === minute) return known
    if (known) this.#closeWindow(organizationId, known)
    const window = { minute, recorded: 0, counted: 0, last: null }
    this.#windows.set(organizationId, window)
    return window
  }

  /** One entry stands for all that were only counted. */
  #closeWindow(organizationId: string, { last, counted }: Window): void {
    this.#windows.delete(organizationId)
    if (last) this.#enqueue({ ...last, requests: counted })
  }

  #enqueue(row: RefusedRow): void {
    if (this.#waiting.length < maxWaiting) this.#waiting.push(row)
    this.#onAdded()
  }
}

/** Repeating it changes nothing. A row that the database rejects affects no other. */
async function insertRefused(db: Db, rows: RefusedRow[]): Promise<void> {
  try {
    await insertRows(db, rows)
  } catch (error) {
    if (!isRejectedData(error)) throw error
    for (const row of rows.length > 1 ? rows : []) await insertRefused(db, [row])
  }
}

async function insertRows(db: Db, rows: RefusedRow[]): Promise<void> {
  await db
    .insertInto('refused_requests')
    .values(rows)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
}
