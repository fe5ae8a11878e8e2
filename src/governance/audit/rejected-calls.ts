import type { Clock } from '../../platform/time/clock.ts'
import type { AuditEvent, AuditOrigin } from './entry.ts'
import type { AuditQueue } from './queue.ts'

/** A rejected call and its caller. */
export interface RejectedCall {
  origin: AuditOrigin
  operation: { id: string; name: string }
  workspaceId: string | null
  reason: string
  permission: string | null
}

interface Window {
  endsAt: number
  /** Calls since the last entry. */
  count: number
  last: RejectedCall
}

const windowMs = 60_000
/** Callers and operations at a time. Calls of others are not recorded. */
const maxWindows = 10_000

/** Records rejected calls: at most one entry in a minute for each caller and operation, with the number it stands for. */
export class RejectedCalls {
  readonly #queue: AuditQueue
  readonly #clock: Clock
  readonly #windows = new Map<string, Window>()

  constructor(queue: AuditQueue, clock: Clock) {
    this.#queue = queue
    this.#clock = clock
  }

  get isCounting(): boolean {
    return this.#windows.size > 0
  }

  add(call: RejectedCall): void {
    const { origin, operation } = call
    const { type, id } = origin.actor
    const key = JSON.stringify([origin.organizationId, type, id, operation.id])
    const now = this.#clock.now()
    const window = this.#windows.get(key)
    if (!window && this.#windows.size >= maxWindows) return
    const count = (window?.count ?? 0) + 1
    if (window && now < window.endsAt) this.#windows.set(key, { ...window, count, last: call })
    else this.#record(key, call, count)
  }

  /** Records what was counted in windows that have ended; all of them when the process stops. */
  sweep(isAll = false): void {
    const now = this.#clock.now()
    for (const [key, { endsAt, count, last }] of this.#windows) {
      if (!isAll && now < endsAt) continue
      if (count > 0) this.#record(key, last, count)
      else this.#windows.delete(key)
    }
  }

  #record(key: string, call: RejectedCall, count: number): void {
    this.#windows.set(key, { endsAt: this.#clock.now() + windowMs, count: 0, last: call })
    this.#queue.add(async () => ({ origin: call.origin, event: toEvent(call, count) }))
  }
}

function toEvent({ operation, workspaceId, reason, permission }: RejectedCall, count: number): AuditEvent {
  return {
    action: 'operation.refuse',
    target: { type: 'operation', ...operation },
    workspaceId,
    outcome: 'refused',
    details: { reason, ...(permission && { permission }), count },
  }
}
