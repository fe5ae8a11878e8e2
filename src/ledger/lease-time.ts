/** The time that leases depend on. */
export interface LeaseTime {
  /** A clock that is never adjusted. */
  now(): number
  /** A clock that does not stop while the machine sleeps. */
  wall(): number
  /** Returns what cancels it. */
  setTimer(run: () => void, ms: number): () => void
}

export const processTime: LeaseTime = {
  now: () => performance.now(),
  wall: () => Date.now(),
  setTimer: (run, ms) => {
    const timer = setTimeout(run, ms).unref()
    return () => clearTimeout(timer)
  },
}
