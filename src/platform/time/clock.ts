/** Milliseconds since the epoch. Injected, so that tests can set the time. */
export interface Clock {
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** An estimate of a shared clock, such as the database's, so that nodes agree on when a day begins. */
export class RemoteClock implements Clock {
  #offsetMs = 0

  /** Milliseconds that the remote clock is ahead of this one. */
  get offsetMs(): number {
    return this.#offsetMs
  }

  now(): number {
    return Date.now() + this.#offsetMs
  }

  /** The remote time is assumed to be read half-way through the round trip. */
  async sync(readTime: () => Promise<number>): Promise<void> {
    const sentAt = Date.now()
    const remoteTime = await readTime()
    this.#offsetMs = Math.round(remoteTime - (sentAt + Date.now()) / 2)
  }
}

export function isoNow(clock: Clock): string {
  return new Date(clock.now()).toISOString()
}
