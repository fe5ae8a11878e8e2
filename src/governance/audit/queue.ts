import type { Logger } from 'pino'
import { displayNameOf, findMember } from '../../identity/members.ts'
import { WakeSignal } from '../../platform/concurrency/wake-signal.ts'
import type { Db } from '../../platform/db/db.ts'
import type { AuditEvent, AuditOrigin } from './entry.ts'
import { type AuditDeps, transactAs } from './transaction.ts'

/** An event that changes nothing and thus has no transaction of its own. */
export interface QueuedEvent {
  origin: AuditOrigin
  event: AuditEvent
}

/** Finds what is not known yet; null if there is nothing to record any more. */
export type EventSource = (db: Db) => Promise<QueuedEvent | null>

/** Events above which further ones are dropped: the database has been unavailable for long. */
const maxWaiting = 1000
const delayMs = 300

/** Writes events a moment later, so that requests do not wait for them. */
export class AuditQueue {
  readonly #deps: AuditDeps & { log: Logger }
  readonly #waiting: EventSource[] = []
  readonly #signal = new WakeSignal(delayMs)
  #flushing: Promise<void> | null = null
  #dropped = 0

  constructor(deps: AuditDeps & { log: Logger }) {
    this.#deps = deps
    this.#signal.listen(() => void this.flush())
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0
  }

  add(source: EventSource): void {
    if (this.#waiting.length >= maxWaiting) {
      this.#dropped++
      return
    }
    this.#waiting.push(source)
    this.#signal.wake()
  }

  /** Writes what waits. Never throws: what fails is tried again by the next call. */
  async flush(): Promise<void> {
    while (this.#flushing) await this.#flushing
    const flushing = this.#writeAll()
    this.#flushing = flushing
    await flushing
    this.#flushing = null
  }

  async #writeAll(): Promise<void> {
    const { log } = this.#deps
    try {
      for (let source = this.#waiting[0]; source; source = this.#waiting[0]) {
        await this.#write(source)
        this.#waiting.shift()
      }
      if (this.#dropped > 0) log.error({ dropped: this.#dropped }, 'audit entries were dropped')
      this.#dropped = 0
    } catch (err) {
      log.warn({ err, waiting: this.#waiting.length }, 'audit entries could not be written')
    }
  }

  async #write(source: EventSource): Promise<void> {
    const queued = await source(this.#deps.db)
    if (!queued) return
    const origin = await this.#nameMember(queued.origin)
    await transactAs(this.#deps, origin, async (_tx, record) => record(queued.event))
  }

  async #nameMember(origin: AuditOrigin): Promise<AuditOrigin> {
    const { organizationId, actor } = origin
    if (actor.type !== 'member' || actor.name !== null || organizationId === null) return origin
    const member = await findMember(this.#deps.db, organizationId, actor.id ?? '')
    return { ...origin, actor: { ...actor, name: member ? displayNameOf(member) : null } }
  }
}
