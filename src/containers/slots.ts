import { GatewayError } from '../platform/errors/gateway-error.ts'

/** Commands that wait for the same container. */
const maxWaiting = 16
const retryAfterSeconds = 5

export interface SlotLimits {
  running: number
  running_per_workspace: number
}

/** Bounds the commands that run at the same time. Those of one container run one after the other. */
export class CommandSlots {
  readonly #byWorkspace = new Map<string, number>()
  readonly #byHome = new Map<string, { last: Promise<void>; count: number }>()
  #running = 0

  /** Runs the work, once the commands before it have ended. */
  async run<T>(
    { workspaceId, home, limits }: { workspaceId: string; home: string; limits: SlotLimits },
    work: () => Promise<T>,
  ): Promise<T> {
    const queue = this.#byHome.get(home) ?? { last: Promise.resolve(), count: 0 }
    if (queue.count >= maxWaiting) throw busyError('Too many commands wait for this container.')
    const { promise, resolve } = Promise.withResolvers<void>()
    const before = queue.last
    queue.last = promise
    queue.count++
    this.#byHome.set(home, queue)
    try {
      await before
      return await this.#runCounted(workspaceId, limits, work)
    } finally {
      queue.count--
      if (queue.count === 0) this.#byHome.delete(home)
      resolve()
    }
  }

  async #runCounted<T>(workspaceId: string, limits: SlotLimits, work: () => Promise<T>): Promise<T> {
    const count = this.#byWorkspace.get(workspaceId) ?? 0
    if (count >= limits.running_per_workspace)
      throw busyError(`This workspace runs ${count} commands already (containers.running_per_workspace).`)
    if (this.#running >= limits.running)
      throw busyError(`This gateway runs ${this.#running} commands already (containers.running).`)
    this.#running++
    this.#byWorkspace.set(workspaceId, count + 1)
    try {
      return await work()
    } finally {
      this.#running--
      const left = (this.#byWorkspace.get(workspaceId) ?? 1) - 1
      if (left === 0) this.#byWorkspace.delete(workspaceId)
      else this.#byWorkspace.set(workspaceId, left)
    }
  }
}

function busyError(message: string): GatewayError {
  return new GatewayError('rate_limited', {
    message: `${message} Retry later.`,
    headers: { 'retry-after': String(retryAfterSeconds) },
  })
}
