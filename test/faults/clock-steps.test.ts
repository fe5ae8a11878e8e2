import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { rollUp } from '../../src/analytics/rollups/roll-up.ts'
import { checkLedger } from '../../src/ledger/check.ts'
import { databaseKinds, startTestServer, type TestServer } from '../support/harness.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const yearMs = 365 * dayMs

for (const kind of databaseKinds) {
  describe(`a clock that steps (${kind})`, () => {
    let server: TestServer
    let vendor: Upstream

    beforeAll(async () => {
      vendor = await startUpstream()
      const provider = { slug: 'vendor', name: 'Vendor', base_url: vendor.url, dialects: ['chat'] }
      const pricing = { prompt: '0', completion: '0', request: '0.01' }
      const endpoints = [{ provider: 'vendor', upstream_model: 'm', pricing }]
      const models = [{ id: 'faults/fixed', name: 'Fixed', endpoints }]
      server = await startTestServer(kind, { settings: JSON.stringify({ providers: [provider], models }) })
    })
    afterAll(async () => {
      await server.stop()
      await vendor.stop()
    })

    const send = async (key: string) => {
      const { status } = await server.call('POST', '/chat/completions', {
        key,
        body: { model: 'faults/fixed', messages: [{ role: 'user', content: 'Hello' }] },
      })
      // Flushed before the clock steps.
      await server.gateway.ledger.flush()
      return status
    }
    const newKey = async (limit: number | null, limit_reset: string | null = null) =>
      (await server.call('POST', '/keys', { body: { name: 'clock', limit, limit_reset } })).body.key as string
    const usageOf = async (key: string) => (await server.call('GET', '/key', { key })).body.data
    const problems = async () =>
      (await checkLedger(server.gateway.db)).findings.flatMap(({ violations }) => violations)
    const requestsInAnalytics = async () => {
      const time_range = { start: '2031-01-01T00:00:00Z', end: '2031-12-31T00:00:00Z' }
      const { body } = await server.call('POST', '/analytics/query', {
        body: { metrics: ['request_count'], time_range },
      })
      return Number(body.data.data[0]?.request_count ?? 0)
    }

    test('R13 R23 I6 an hour ahead for a moment: every later request is in the analytics, and the ledger is sound', async () => {
      server.clock.freeze('2031-03-12T12:00:00.000Z')
      const key = await newKey(null)
      await send(key)
      server.clock.advance(hourMs)
      await send(key)
      server.clock.advance(60_000)
      await rollUp(server.gateway, { minRows: 1 })
      server.clock.advance(-hourMs)
      await send(key)
      await rollUp(server.gateway, { minRows: 1 })
      expect(await requestsInAnalytics()).toBe(3)
      expect(await problems()).toEqual([])
    })

    test.each(['daily', 'weekly', 'monthly'])(
      'R13 I6 a year ahead for one request does not freeze a %s limit, nor forget what was spent',
      async (reset) => {
        server.clock.freeze('2032-03-10T12:00:00.000Z')
        const key = await newKey(0.03, reset)
        expect(await send(key)).toBe(200)
        server.clock.advance(yearMs)
        expect(await send(key)).toBe(200)
        server.clock.advance(-yearMs)
        expect(await usageOf(key)).toMatchObject({ [`usage_${reset}`]: 0.01, limit_remaining: 0.02 })
        expect(await send(key)).toBe(200)
        expect(await send(key)).toBe(200)
        expect(await send(key)).toBe(402)
        expect(await usageOf(key)).toMatchObject({
          usage: 0.04,
          [`usage_${reset}`]: 0.03,
          limit_remaining: 0,
        })
        server.clock.advance(yearMs)
        expect(await usageOf(key)).toMatchObject({ [`usage_${reset}`]: 0.01, limit_remaining: 0.02 })
        expect(await problems()).toEqual([])
      },
    )

    test('R13 I6 back across the end of a month: the earlier windows are the old ones again', async () => {
      server.clock.freeze('2033-03-31T23:00:00.000Z')
      const key = await newKey(0.02, 'monthly')
      expect(await send(key)).toBe(200)
      server.clock.advance(2 * hourMs)
      expect(await send(key)).toBe(200)
      expect(await send(key)).toBe(200)
      expect(await send(key)).toBe(402)
      server.clock.advance(-2 * hourMs)
      expect(await send(key)).toBe(200)
      expect(await send(key)).toBe(402)
      expect(await usageOf(key)).toMatchObject({ usage: 0.04, usage_monthly: 0.02, usage_weekly: 0.04 })
      expect(await problems()).toEqual([])
    })
  })
}
