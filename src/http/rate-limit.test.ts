import { beforeEach, expect, test } from 'bun:test'
import { createSessionCaller, describeOnEachDatabase, type TestServer } from '../../test/support/harness.ts'
import type { Caller } from '../access/caller.ts'
import { type Settings, settingsFields } from '../gateway/settings.ts'
import { MinuteRateLimiter } from '../platform/concurrency/rate-limiter.ts'
import type { GatewayError } from '../platform/errors/gateway-error.ts'
import { enforceRateLimit, type RateLimit } from './rate-limit.ts'

const limit: RateLimit = { name: 'tests', perMinute: 3, perDay: 5 }

/** Counts the calls that are allowed, and returns the error of the first that is not. */
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
      'retry-after': '600',
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

const wrongKey = `sk-hg-v1-${'0'.repeat(64)}`

function statusesOf(responses: { status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

async function repeat<T>(count: number, send: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  for (let index = 0; index < count; index++) results.push(await send(index))
  return results
}

describeOnEachDatabase(
  'rates of requests',
  (server) => {
    beforeEach(() => {
      Object.assign(server().gateway, { rateLimiter: new MinuteRateLimiter() })
      server().clock.freeze('2028-05-01T10:00:15.000Z')
    })

    function setLimits(limits: Partial<Settings['limits']>): void {
      const { gateway } = server()
      gateway.settings = { ...gateway.settings, limits: { ...gateway.settings.limits, ...limits } }
    }

    test('an address may try 300 invalid keys in a minute, and a valid key is not affected', async () => {
      const { call, own, clock } = server()
      const responses = await repeat(330, (index) => call('GET', '/key', { key: `${wrongKey}${index % 3}` }))
      expect(statusesOf(responses)).toEqual({ 401: 300, 429: 30 })
      const refused = responses.at(-1)
      expect(refused?.headers.get('retry-after')).toBe('45')
      expect(refused?.body.error.message).toContain('300')
      expect((await call('GET', '/key', { key: own.inferenceKey })).status).toBe(200)
      expect((await call('GET', '/keys')).status).toBe(200)
      clock.advance(60_000)
      expect((await call('GET', '/key', { key: wrongKey })).status).toBe(401)
    })

    test('every kind of credential counts as one: key, none, session, SCIM token', async () => {
      const { call, url } = server()
      setLimits({ failed_authentications_per_minute: 4 })
      await call('GET', '/keys', { key: wrongKey })
      await call('POST', '/chat/completions', { key: wrongKey, body: {} })
      await call('GET', '/keys', { key: null })
      await call('GET', '/keys', { key: null, headers: { cookie: 'headgate_session=none' } })
      const scim = await fetch(`${url}/scim/v2/Users`, { headers: { authorization: 'Bearer none' } })
      expect([scim.status, scim.headers.get('retry-after')]).toEqual([429, '45'])
      // Refused before the body is read.
      const inference = await call('POST', '/messages', { key: wrongKey, body: '{' })
      expect([inference.status, inference.body.error.type]).toEqual([429, 'rate_limit_error'])
      setLimits({ failed_authentications_per_minute: 300 })
    })

    test('management requests are limited for each key and for each member, lookups apart from them', async () => {
      const { call, own, foreign } = server()
      setLimits({ management_requests_per_minute: 3, lookup_requests_per_minute: 2 })
      const member = await createSessionCaller(server(), { role: 'org:admin' })
      const responses = await repeat(5, () => call('GET', '/keys'))
      expect(statusesOf(responses)).toEqual({ 200: 3, 429: 2 })
      expect(responses.at(-1)?.body.error.message).toContain('3 management requests per minute')
      expect((await call('GET', '/keys', { key: foreign.managementKey })).status).toBe(200)
      expect(statusesOf(await repeat(4, () => member.call('GET', '/keys')))).toEqual({ 200: 3, 429: 1 })
      const lookups = await repeat(3, () => call('GET', '/key', { key: own.inferenceKey }))
      expect(statusesOf(lookups)).toEqual({ 200: 2, 429: 1 })
      setLimits({ management_requests_per_minute: 1200, lookup_requests_per_minute: 6000 })
    })

    test('requests to models are not among them', async () => {
      const { call, own } = server()
      setLimits({ management_requests_per_minute: 1, lookup_requests_per_minute: 1 })
      const body = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'hello' }] }
      const send = () => call('POST', '/chat/completions', { key: own.inferenceKey, body })
      expect(statusesOf(await repeat(4, send))).toEqual({ 200: 4 })
      setLimits({ management_requests_per_minute: 1200, lookup_requests_per_minute: 6000 })
    })

    test('requests without a key are limited for each address and kind, /healthz is not', async () => {
      const { call, url } = server()
      setLimits({ anonymous_requests_per_minute: 2 })
      const jwks = await repeat(3, () => call('GET', '/oauth/jwks', { key: null }))
      expect(statusesOf(jwks)).toEqual({ 200: 2, 429: 1 })
      const pages = await repeat(3, () => fetch(`${url}/signin`))
      expect(statusesOf(pages)).toEqual({ 401: 2, 429: 1 })
      expect(pages.at(-1)?.headers.get('retry-after')).toBe('45')
      expect((await fetch(`${url}/invitation`)).status).not.toBe(429)
      expect((await fetch(`${url}/healthz`)).status).toBe(200)
      setLimits({ anonymous_requests_per_minute: 1200 })
    })

    test('an upload URL and a code are credentials: an address counts only those that are not valid', async () => {
      const { call, own, url } = server()
      setLimits({ failed_authentications_per_minute: 2, anonymous_requests_per_minute: 1 })
      const start = await fetch(`${url}/upload/v1beta/files`, {
        method: 'POST',
        headers: { 'x-goog-api-key': own.inferenceKey },
        body: JSON.stringify({ file: { displayName: 'a.txt' } }),
      })
      const uploadUrl = start.headers.get('x-goog-upload-url') ?? ''
      const query = (target: string) => fetch(target, { method: 'POST' })
      const wrong = await repeat(4, () => query(`${url}/upload/sessions/v1.${'A'.repeat(80)}`))
      expect(statusesOf(wrong)).toEqual({ 404: 2, 429: 2 })
      expect(statusesOf(await repeat(3, () => query(uploadUrl)))).toEqual({ 200: 3 })

      const issued = await call('POST', '/auth/keys/code', { body: { callback_url: 'https://app.example/' } })
      const redeem = (code: string) => call('POST', '/auth/keys', { key: null, body: { code } })
      expect(statusesOf(await repeat(4, () => redeem('wrong')))).toEqual({ 403: 2, 429: 2 })
      expect((await redeem(issued.body.data.id)).status).toBe(200)

      // The requests of a valid upload count for its key.
      setLimits({ lookup_requests_per_minute: 1 })
      expect((await query(uploadUrl)).status).toBe(429)
      const defaults = { failed_authentications_per_minute: 300, anonymous_requests_per_minute: 1200 }
      setLimits({ ...defaults, lookup_requests_per_minute: 6000 })
    })
  },
  { hasDefaultRates: true },
)

test('an installation limits all kinds of requests by default', () => {
  expect(settingsFields.shape.limits.parse({})).toMatchObject({
    management_requests_per_minute: 1200,
    lookup_requests_per_minute: 6000,
    anonymous_requests_per_minute: 1200,
    failed_authentications_per_minute: 300,
  })
})

test('S13 a limiter counts a bounded number of names', () => {
  const limiter = new MinuteRateLimiter(3)
  expect(limiter.tryConsume('first', 1, 0)).toBe(true)
  for (const name of ['a', 'b']) limiter.tryConsume(name, 1, 0)
  expect(limiter.tryConsume('first', 1, 0)).toBe(false)
  limiter.tryConsume('c', 1, 0)
  expect(limiter.tryConsume('first', 1, 0)).toBe(true)
})
