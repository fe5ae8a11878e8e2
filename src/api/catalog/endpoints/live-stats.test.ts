import { beforeEach, describe, expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { Routing } from '../../../inference/routing/routing.ts'

const settings = `
providers:
  - { slug: local, name: Local, base_url: "http://127.0.0.1:9001/v1", dialects: [chat],
      data_policy: { training: false, retains: false } }
models:
  - id: acme/lanes-1
    name: Lanes
    endpoints:
      - { provider: local, upstream_model: lanes, pricing: { prompt: "0.000002", completion: "0.000004" } }
      - { provider: local, upstream_model: lanes, service_tier: priority,
          pricing: { prompt: "0.000004", completion: "0.000008" } }
      - { provider: openai, upstream_model: lanes }
  - id: acme/quick-1
    name: Quick
    endpoints: [{ provider: local, upstream_model: quick }]
  - id: acme/unknown-1
    name: Unknown
    endpoints: [{ provider: local, upstream_model: unknown }]
`

interface Row {
  tag: string
  status: number
  [field: string]: unknown
}

describeOnEachDatabase(
  'What live traffic shows',
  (server) => {
    const health = (id: string) => server().gateway.routing.health.getOrCreate(id)
    const now = () => server().clock.now()
    const rows = async (): Promise<Row[]> =>
      (await server().call('GET', '/models/acme/lanes-1/endpoints')).body.data.endpoints
    const row = async (tag: string) => (await rows()).find((endpoint) => endpoint.tag === tag)
    const succeed = (id: string, times: number, firstTokenMs: number, tokensPerSecond: number) => {
      for (let i = 0; i < times; i++) health(id).recordSuccess(now(), { firstTokenMs, tokensPerSecond })
    }
    const failOnce = (id: string, kind: 'server' | 'rate_limit_exceeded' = 'server', retryAfterMs?: number) =>
      health(id).recordFailure(now(), { kind, ...(retryAfterMs !== undefined && { retryAfterMs }) })
    beforeEach(() => {
      server().clock.freeze('2026-07-01T12:00:00Z')
      Object.assign(server().gateway, { routing: new Routing() })
    })

    test('speeds as percentiles, uptimes by window, replies by workload', async () => {
      succeed('acme/lanes-1 local', 90, 200, 50)
      succeed('acme/lanes-1 local', 9, 2000, 10)
      failOnce('acme/lanes-1 local')
      const shown = await row('local')
      const speeds = shown as unknown as Record<
        string,
        { p50: number; p75: number; p90: number; p99: number }
      >
      expect(speeds.latency_last_30m?.p50).toBeWithin(185, 215)
      expect(speeds.latency_last_30m?.p99).toBeWithin(1850, 2150)
      expect(speeds.throughput_last_30m?.p50).toBeWithin(46, 54)
      expect(shown).toMatchObject({ uptime_last_5m: 99, uptime_last_30m: 99, uptime_last_1d: 99 })
      expect(shown?.perf_last_30m_by_workload).toEqual({
        text_generation: {
          latency: speeds.latency_last_30m,
          throughput: speeds.throughput_last_30m,
          request_count: 99,
        },
      })
    })

    test('each window forgets in its own time', async () => {
      succeed('acme/lanes-1 local', 20, 200, 50)
      server().clock.advance(10 * 60_000)
      expect(await row('local')).toMatchObject({ uptime_last_5m: null, uptime_last_30m: 100 })
      server().clock.advance(30 * 60_000)
      expect(await row('local')).toMatchObject({
        uptime_last_30m: null,
        uptime_last_1d: 100,
        latency_last_30m: null,
      })
    })

    test('fewer than ten attempts are no uptime, and quotas do not count', async () => {
      succeed('acme/lanes-1 local', 9, 200, 50)
      for (let i = 0; i < 5; i++) failOnce('acme/lanes-1 local', 'rate_limit_exceeded')
      expect(await row('local')).toMatchObject({ uptime_last_5m: null, uptime_last_1d: null })
      succeed('acme/lanes-1 local', 1, 200, 50)
      expect(await row('local')).toMatchObject({ uptime_last_5m: 100, uptime_last_1d: 100 })
    })

    describe('status', () => {
      const status = async (tag = 'local') => (await row(tag))?.status

      test('0 without anything against it, -1 without a key', async () => {
        expect(await status()).toBe(0)
        expect(await status('openai')).toBe(-1)
      })

      test('-2 for one that fails, and 0 again half a minute later', async () => {
        failOnce('acme/lanes-1 local')
        expect(await status()).toBe(-2)
        server().clock.advance(40_000)
        expect(await status()).toBe(0)
      })

      test('-3 for one that is ejected', async () => {
        for (let i = 0; i < 5; i++) failOnce('acme/lanes-1 local')
        expect(await status()).toBe(-3)
      })

      test('-5 for one in a cooldown', async () => {
        failOnce('acme/lanes-1 local', 'rate_limit_exceeded', 60_000)
        expect(await status()).toBe(-5)
      })
    })

    test('a tier is a row of its own, with its price, its tag and its own traffic', async () => {
      succeed('acme/lanes-1 local/priority', 10, 20, 500)
      const listed = await rows()
      expect(listed.map(({ tag }) => tag)).toEqual(['local', 'local/priority', 'openai'])
      expect(listed[1]).toMatchObject({
        pricing: { prompt: '0.000004', completion: '0.000008' },
        uptime_last_5m: 100,
      })
      expect(listed[0]).toMatchObject({ latency_last_30m: null, uptime_last_5m: null })
    })

    test('statistics of a tenant’s BYOK key are in no listing', async () => {
      succeed('acme/lanes-1 openai 7f6f2c', 20, 200, 50)
      for (let i = 0; i < 5; i++) failOnce('acme/lanes-1 openai 7f6f2c')
      expect(await row('openai')).toMatchObject({ status: -1, latency_last_30m: null, uptime_last_5m: null })
    })

    test('GET /endpoints/zdr shows the same', async () => {
      succeed('acme/lanes-1 local', 10, 200, 50)
      const { data } = (await server().call('GET', '/endpoints/zdr')).body
      const ours = data.filter((endpoint: Row) => endpoint.model_id === 'acme/lanes-1')
      expect(ours.map((endpoint: Row) => [endpoint.tag, endpoint.uptime_last_5m])).toEqual([
        ['local', 100],
        ['local/priority', null],
      ])
    })

    describe('GET /models', () => {
      const order = async (query: string): Promise<string[]> =>
        (await server().call('GET', `/models?q=acme&${query}`)).body.data.map(({ id }: { id: string }) => id)

      test('sorts by speed: what is not known comes last, lanes do not count', async () => {
        succeed('acme/lanes-1 local', 3, 900, 20)
        succeed('acme/lanes-1 local/priority', 3, 1, 5000)
        succeed('acme/quick-1 local', 3, 100, 300)
        expect(await order('sort=throughput-high-to-low')).toEqual([
          'acme/quick-1',
          'acme/lanes-1',
          'acme/unknown-1',
        ])
        expect(await order('sort=latency-low-to-high')).toEqual([
          'acme/quick-1',
          'acme/lanes-1',
          'acme/unknown-1',
        ])
      })

      test('filters by the share of right tool calls', async () => {
        for (let i = 0; i < 60; i++) health('acme/quick-1 local').recordToolCalls(now(), i % 2 === 0)
        for (let i = 0; i < 60; i++) health('acme/lanes-1 local').recordToolCalls(now(), true)
        expect(await order('min_tool_success_rate=0.9')).toEqual(['acme/lanes-1'])
        expect(await order('max_tool_success_rate=0.9')).toEqual(['acme/quick-1'])
      })
    })
  },
  { settings },
)
