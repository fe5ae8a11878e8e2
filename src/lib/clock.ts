/** Where the time comes from, so that a test can move it. Milliseconds since the epoch. */
export interface Clock {
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

export function isoNow(clock: Clock): string {
  return new Date(clock.now()).toISOString()
}
