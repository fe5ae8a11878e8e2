import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../test/support/harness.ts'

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
          attempts: 1,
          failures: 0,
          latency_p50: expect.any(Number),
          throughput_p50: expect.any(Number),
        },
        {
          until: '2027-07-01T12:00:00.000Z',
          attempts: 1,
          failures: 1,
          latency_p50: null,
          throughput_p50: null,
        },
      ])
      clock.release()
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
