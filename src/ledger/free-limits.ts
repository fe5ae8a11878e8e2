/** Requests to free variants per minute, and per day, which depends on the credits ever purchased. */
export const freeRequestsPerMinute = 20
const baseFreeRequestsPerDay = 50
const purchaserFreeRequestsPerDay = 1000
const purchaserThreshold = 10_000_000_000n

export function resolveFreeRequestsPerDay(purchased: bigint): number {
  return purchased >= purchaserThreshold ? purchaserFreeRequestsPerDay : baseFreeRequestsPerDay
}
