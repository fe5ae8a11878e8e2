import { expect, test } from 'bun:test'
import { describeOnEachDatabase, type TestServer } from '../../test/support/harness.ts'
import type { GatewayError } from '../errors/gateway-error.ts'
import { MinuteRateLimiter } from '../lib/rate-limiter.ts'
import type { Caller } from '../pipeline/request/caller.ts'
import { enforceRateLimit, type RateLimit } from './rate-limit.ts'

const limit: RateLimit = { name: 'tests', perMinute: 3, perDay: 5 }

/** How many of these calls are allowed, and the error of the first that is not. */
async function attempt({ gateway }: TestServer, caller: Caller, calls: number) {
  let allowed = 0
  let error: GatewayError | undefined
  for (let call = 0; call < calls; call++) {
    await enforceRateLimit(gateway, caller, limit).then(
      () => allowed++,
      (failure: GatewayError) => {
        error ??= failure
      },
    )
  }
  return { allowed, error }
}

function callerOf(organizationId: string, keyId: number): Caller {
  return { organizationId, key: { id: keyId } } as Caller
}

describeOnEachDatabase('rate limits of operations', (server) => {
  test('a minute is counted for each key, a day for the organization and across restarts', async () => {
    const { clock, gateway, own, foreign } = server()
    clock.freeze('2028-03-15T23:50:00.000Z')
    const first = callerOf(own.organization.id, 1)
    const minute = await attempt(server(), first, 4)
    expect(minute.allowed).toBe(3)
    expect(minute.error?.message).toContain('3 requests per minute')
    expect(minute.error?.headers['x-ratelimit-reset']).toBe(String(Date.parse('2028-03-15T23:51:00Z')))

    // Another key of the organization has its own minute, but not its own day.
    const day = await attempt(server(), callerOf(own.organization.id, 2), 3)
    expect(day.allowed).toBe(2)
    expect(day.error?.row.status).toBe(429)
    expect(day.error?.headers).toEqual({
      'x-ratelimit-limit': '5',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(Date.parse('2028-03-16T00:00:00Z')),
    })

    Object.assign(gateway, { rateLimiter: new MinuteRateLimiter() })
    expect((await attempt(server(), first, 1)).allowed).toBe(0)
    expect((await attempt(server(), callerOf(foreign.organization.id, 3), 1)).allowed).toBe(1)

    clock.advance(15 * 60_000)
    expect((await attempt(server(), first, 1)).allowed).toBe(1)
    const rows = await gateway.db.selectFrom('daily_requests').selectAll().orderBy('day').execute()
    expect(rows.map(({ organization_id, day }) => [organization_id, day])).toEqual([
      [foreign.organization.id, '2028-03-15'],
      [own.organization.id, '2028-03-16'],
    ])
    clock.release()
  })

  test('concurrent requests do not exceed the day', async () => {
    const { clock, own } = server()
    clock.freeze('2028-04-01T10:00:00.000Z')
    const calls = Array.from({ length: 12 }, (_, index) =>
      enforceRateLimit(server().gateway, callerOf(own.organization.id, 100 + index), limit).then(
        () => 1,
        () => 0,
      ),
    )
    expect((await Promise.all(calls)).filter(Boolean).length).toBe(5)
    clock.release()
  })
})
