import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'

const settings = `
providers:
  - { slug: local, name: Local, base_url: "http://127.0.0.1:9001/v1", dialects: [chat] }
models:
  - { id: acme/steady-1, name: Steady, endpoints: [{ provider: local, upstream_model: steady }] }
  - { id: acme/broken-1, name: Broken, endpoints: [{ provider: local, upstream_model: broken }] }
`

describeOnEachDatabase(
  'GET /endpoints/health',
  (server) => {
    const list = async (query: string) => (await server().call('GET', `/endpoints/health?${query}`)).body
    const health = (id: string) => server().gateway.routing.health.getOrCreate(id)

    test('shows attempts by hour, and why and until when an endpoint is left out', async () => {
      const { clock } = server()
      clock.freeze('2027-07-01T10:02:00.000Z')
      health('acme/steady-1 local').recordSuccess(clock.now(), { firstTokenMs: 200, tokensPerSecond: 50 })
      clock.advance(3_600_000)
      health('acme/steady-1 local').recordFailure(clock.now(), { kind: 'server', status: 500 })
      health('acme/broken-1 local').recordFailure(clock.now(), {
        kind: 'rate_limit_exceeded',
        status: 429,
        retryAfterMs: 60_000,
      })
      const [broken] = (await list('model=acme/broken-1')).data
      expect(broken).toMatchObject({
        model_id: 'acme/broken-1',
        provider: 'local',
        state: 'cooling_down',
        failing_since: '2027-07-01T11:02:00.000Z',
        unavailable_until: '2027-07-01T11:03:00.000Z',
        last_error: { error_type: 'rate_limit_exceeded', status: 429, at: '2027-07-01T11:02:00.000Z' },
      })
      const [steady] = (await list('model=acme/steady-1')).data
      expect(steady).toMatchObject({ state: 'failing', unavailable_until: null })
      expect(steady.hours).toHaveLength(24)
      expect(steady.hours.slice(-2)).toEqual([
        {
          until: '2027-07-01T11:00:00.000Z',
          uptime: 100,
          attempts: 1,
          failures: 0,
          latency_p50: expect.any(Number),
          throughput_p50: expect.any(Number),
        },
        {
          until: '2027-07-01T12:00:00.000Z',
          uptime: 0,
          attempts: 1,
          failures: 1,
          latency_p50: null,
          throughput_p50: null,
        },
      ])
      clock.release()
    })

    test('numbers of requests are for those who may read the state of the installation', async () => {
      const { clock, own, foreign } = server()
      for (const firstTokenMs of [100, 200])
        health('acme/steady-1 local').recordSuccess(clock.now(), { firstTokenMs, tokensPerSecond: 50 })
      health('acme/steady-1 local').recordFailure(clock.now(), { kind: 'server', status: 500 })
      const limited = await server().call('POST', '/management-keys', {
        body: { name: 'Models only', permissions: ['models:read'] },
      })
      const read = async (path: string, key: string) =>
        (await server().call('GET', path, { key })).body.data.find(
          (row: { provider: string }) => row.provider === 'local',
        )
      for (const path of ['/endpoints/health?model=acme/steady-1', '/providers/health']) {
        const full = await read(path, own.managementKey)
        expect(full.requests_last_30m).toBeGreaterThan(1)
        expect(full.hours.at(-1)).toMatchObject({
          attempts: expect.any(Number),
          failures: expect.any(Number),
        })
        for (const key of [own.inferenceKey, limited.body.key, foreign.managementKey]) {
          const { requests_last_30m, hours, ...rest } = await read(path, key)
          expect(requests_last_30m).toBeNull()
          expect(hours.at(-1)).toMatchObject({ uptime: 66, attempts: null, failures: null })
          expect(rest).toEqual(
            Object.fromEntries(Object.entries(full).filter(([name]) => Object.hasOwn(rest, name))),
          )
        }
      }
    })

    test('pages, and filters by provider', async () => {
      const all = await list('provider=local')
      expect(all.total_count).toBe(2)
      const second = await list('provider=local&limit=1&offset=1')
      expect(second.data.map(({ tag }: { tag: string }) => tag)).toEqual(['local'])
      expect(second.total_count).toBe(2)
      expect((await list('model=acme/none')).data).toEqual([])
    })
  },
  { settings },
)
