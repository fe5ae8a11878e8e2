/** Requests to free variants: a minute, and a day, which depends on the credits ever bought. */
export const freeRequestsPerMinute = 20
const baseFreeRequestsPerDay = 50
const purchaserFreeRequestsPerDay = 1000
const purchaserThreshold = 10_000_000_000n

export function resolveFreeRequestsPerDay(purchased: bigint): number {
  return purchased >= purchaserThreshold ? purchaserFreeRequestsPerDay : baseFreeRequestsPerDay
}
