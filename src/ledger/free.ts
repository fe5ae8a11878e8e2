/** Requests to free variants: a minute, and a day, which depends on the credits ever bought. */
export const freeRequestsPerMinute = 20
const fewADay = 50
const manyADay = 1000
const manyFrom = 10_000_000_000n

export function freeRequestsPerDay(purchased: bigint): number {
  return purchased >= manyFrom ? manyADay : fewADay
}
