/** Where the time comes from, so that a test can move it. Milliseconds since the epoch. */
export interface Clock {
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** The clock of somewhere else, as far as it is known: nodes that share it agree on when a day begins. */
export class RemoteClock implements Clock {
  #offsetMs = 0

  now(): number {
    return Date.now() + this.#offsetMs
  }

  /** `ask` gives the time there; it is taken to have looked half-way between question and answer. */
  async sync(readTime: () => Promise<number>): Promise<void> {
    const sentAt = Date.now()
    const remoteTime = await readTime()
    this.#offsetMs = Math.round(remoteTime - (sentAt + Date.now()) / 2)
  }
}

export function isoNow(clock: Clock): string {
  return new Date(clock.now()).toISOString()
}
