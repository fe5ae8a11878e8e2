import type { Caller } from '../access/caller.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { countDailyRequest } from '../ledger/daily-requests.ts'
import { rateLimitError } from '../platform/errors/gateway-error.ts'
import { utcDay } from '../platform/time/time.ts'

/** The rate limit of operations: in a minute with one key, and in a UTC day by an organization. */
export interface RateLimit {
  /** Operations of the same name share the limit; messages name them by it. */
  name: string
  perMinute: number
  perDay: number
}

/** Figures that every key may read, such as rankings and benchmarks. */
export const publicDataLimit: RateLimit = {
  name: 'datasets, benchmarks and classifications',
  perMinute: 30,
  perDay: 500,
}

/** Each test costs the owner of the credential a few tokens. */
export const credentialTestLimit: RateLimit = { name: 'tests of credentials', perMinute: 20, perDay: 1000 }

const dayMs = 86_400_000

/** Throws beyond the limit. */
export async function enforceRateLimit(gateway: Gateway, caller: Caller, limit: RateLimit): Promise<void> {
  const { name, perMinute, perDay } = limit
  const now = gateway.clock.now()
  const minuteMessage = `At most ${perMinute} requests per minute are allowed with one key for ${name}.`
  await gateway.rateLimiter.consume(`${name} ${caller.key.id}`, perMinute, now, minuteMessage)
  if (await countDailyRequest(gateway.db, caller.organizationId, limit, utcDay(now))) return
  const dayMessage = `At most ${perDay} requests per day are allowed in an organization for ${name}; the count restarts at 00:00 UTC.`
  throw rateLimitError(dayMessage, perDay, dayMs, now)
}

export function describeRateLimit({ name, perMinute, perDay }: RateLimit): string {
  return `At most ${perMinute} requests per minute with one key, and ${perDay} per UTC day in an organization, for ${name} together.`
}
