import { sha256 } from '../../platform/crypto/crypto.ts'
import type { Db } from '../../platform/db/db.ts'
import type { Clock } from '../../platform/time/clock.ts'
import { utcDay } from '../../platform/time/time.ts'

/** Maximum new plans of one organization in a minute: preferences can be varied without end. */
const maxNewPlans = 60
/** Plans whose id is known; more are looked up by their content. */
const maxKnown = 5000
const maxWaiting = 1000
/** Preferences may list as many providers as a body has room for. */
const maxKeyLength = 8000
const rowsPerStatement = 50
const minuteMs = 60_000

/**
 * Routing decisions, each stored once a day however many requests share it. The id begins with the day, so that old
 * ones are found without an index.
 */
export class RoutingPlans {
  readonly #db: Db
  readonly #clock: Clock
  /** Called when something waits to be written. */
  readonly #onAdded: () => void
  readonly #known = new Map<string, string>()
  readonly #created = new Map<string, number>()
  #waiting = new Map<string, string>()
  #basis: unknown = null
  #day = 0
  #minute = 0

  constructor(db: Db, clock: Clock, onAdded: () => void = () => undefined) {
    this.#db = db
    this.#clock = clock
    this.#onAdded = onAdded
  }

  /**
   * The id of a plan, null if there are too many of them. `key` identifies it among the plans of the same `basis`, such
   * as the catalog; `describe` is called for a new one only.
   */
  findId(basis: unknown, organizationId: string, key: string, describe: () => object): string | null {
    const now = this.#clock.now()
    const day = Math.floor(now / (24 * 60 * minuteMs))
    if (basis !== this.#basis || day !== this.#day || this.#known.size > maxKnown) this.#known.clear()
    this.#basis = basis
    this.#day = day
    if (key.length > maxKeyLength) return null
    return this.#known.get(key) ?? this.#add(key, organizationId, now, describe)
  }

  #add(key: string, organizationId: string, now: number, describe: () => object): string | null {
    const minute = Math.floor(now / minuteMs)
    if (minute !== this.#minute) this.#created.clear()
    this.#minute = minute
    const created = this.#created.get(organizationId) ?? 0
    if (created >= maxNewPlans || this.#waiting.size >= maxWaiting) return null
    this.#created.set(organizationId, created + 1)
    const content = JSON.stringify(describe())
    const id = `${utcDay(now)}-${sha256(content).slice(0, 24)}`
    this.#known.set(key, id)
    this.#waiting.set(id, content)
    this.#onAdded()
    return id
  }

  /** Writes the new ones. Throws if the database fails. */
  async flush(): Promise<void> {
    while (this.#waiting.size > 0) {
      const rows = [...this.#waiting].slice(0, rowsPerStatement).map(([id, content]) => ({ id, content }))
      await insertPlans(this.#db, rows)
      for (const { id } of rows) this.#waiting.delete(id)
    }
  }
}

/** Other nodes store the same plans. */
async function insertPlans(db: Db, rows: { id: string; content: string }[]): Promise<void> {
  await db
    .insertInto('routing_plans')
    .values(rows)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
}

export async function findPlan(db: Db, id: string): Promise<unknown> {
  const row = await db.selectFrom('routing_plans').select('content').where('id', '=', id).executeTakeFirst()
  return row && JSON.parse(row.content)
}
