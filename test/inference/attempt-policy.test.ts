import { beforeEach, describe, expect, test } from 'bun:test'
import { resetRouting } from '../support/harness.ts'
import { vendorReply } from '../support/replies.ts'
import {
  clearGenerations,
  describeWithUpstreams,
  describeWithUpstreamsOnSqlite,
  listGenerations,
  readJson,
  sendPassingTime,
  sendRequest,
  waitForGenerations,
} from './two-upstreams.ts'

const price = 'pricing: { prompt: "0.000001", completion: "0.000004" }'

/** Models that declare something about attempts, each at one or both providers. */
function buildSettings(first: string, second: string): string {
  const provider = (slug: string, url: string, more = '') =>
    `  - { slug: ${slug}, name: ${slug}, base_url: "${url}", dialects: [chat], api_key: secret${more} }`
  const endpoint = (slug: string, more = '') =>
    `      - { provider: ${slug}, upstream_model: vendor-model, ${price}${more} }`
  const model = (id: string, more: string, ...endpoints: string[]) =>
    [
      `  - id: test/${id}`,
      `    name: ${id}`,
      ...(more ? [`    ${more}`] : []),
      '    endpoints:',
      ...endpoints,
    ].join('\n')
  return [
    'limits: { heartbeat: 300, idle: 200, first_byte: 200, first_content: 200, whole_reply: 200 }',
    'providers:',
    provider('one', first),
    provider('two', second),
    provider('hasty', first, ', timeout: { first_byte: 3 }'),
    'models:',
    model('both', '', endpoint('one'), endpoint('two', ', quantization: fp8')),
    model('one', '', endpoint('one')),
    model('hasty', '', endpoint('hasty')),
    model('slow', 'timeout: 300', endpoint('one')),
    model('quick', 'timeout: { first_content: 8 }', endpoint('one', ', timeout: { first_content: 5 }')),
    model(
      'repeated',
      'retry: { max_retries: 2, statuses: [500, 502], backoff: 0 }',
      endpoint('one'),
      endpoint('two'),
    ),
  ].join('\n')
}

const { frames } = vendorReply('chat', 'text')
/** Frames before the first content, which an upstream may send long before it. */
const opening =
  'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'
const quiet = { sse: [opening], hang: true }
const begun = { sse: frames.slice(0, 3), hang: true }

describeWithUpstreamsOnSqlite(
  'the timeouts of a request',
  (bench) => {
    beforeEach(() => clearGenerations(bench()))

    for (const [name, timeout] of [
      ['first_byte', { first_byte: 40 }],
      ['first_content', { first_content: 40 }],
    ] as const) {
      test(`${name} leads to the next endpoint`, async () => {
        bench().first.enqueue(name === 'first_byte' ? { hang: true } : quiet)
        const body = { model: 'test/both', stream: true, provider: { timeout } }
        const response = await sendPassingTime(bench(), 'chat', body)
        expect(await response.text()).toContain('[DONE]')
        const [row] = await waitForGenerations(bench(), 1)
        expect(row).toMatchObject({ status: 'completed', provider: 'two' })
        expect(JSON.parse(row?.attempts ?? '')).toMatchObject([{ provider: 'one', code: 'timeout' }])
      })
    }

    test('idle ends a reply that has begun with an error', async () => {
      bench().first.enqueue(begun)
      const body = { model: 'test/both', stream: true, provider: { timeout: { idle: 2 } } }
      const response = await sendRequest(bench(), 'chat', body)
      const text = await bench().server.timer.passUntil(response.text())
      expect(text).toContain('"finish_reason":"error"')
      expect(text).toContain('stopped sending')
      expect(bench().second.requests).toHaveLength(0)
      // It is not the provider that has failed: what was generated is charged.
      const [row] = await waitForGenerations(bench(), 1)
      expect(row).toMatchObject({ status: 'failed', usage_source: 'estimated' })
      expect(row?.cost_nanos).toBeGreaterThan(0n)
    })

    test('total ends a reply that goes on', async () => {
      const { timer } = bench().server
      bench().first.enqueue({ sse: Array(200).fill(frames[2]), delayMs: 5, hang: true })
      const body = { model: 'test/both', stream: true, provider: { timeout: 20 } }
      const response = await sendRequest(bench(), 'chat', body)
      const text = await timer.passUntil(response.text())
      expect(text).toContain('"finish_reason":"error"')
      expect(text).toContain('timed out')
    })

    test('one of the request itself does not count against the health of an endpoint', async () => {
      const { health } = bench().server.gateway.routing
      const hang = async (provider: object) => {
        bench().first.enqueue({ hang: true })
        const response = await sendPassingTime(bench(), 'chat', {
          model: 'test/hasty',
          stream: true,
          provider,
        })
        expect(response.status).toBe(408)
        return health.find('test/hasty hasty')?.getStats(bench().server.clock.now()).attempts5m
      }
      expect(await hang({ timeout: { first_byte: 1 } })).toBe(0)
      expect(await hang({ timeout: { first_byte: 50 } })).toBe(1)
    })

    test('total is for all attempts of a whole reply together', async () => {
      bench().first.enqueue({ hang: true })
      bench().second.enqueue({ hang: true })
      const init = { headers: { 'x-headgate-timeout': '3' } }
      const sending = sendRequest(bench(), 'chat', { model: 'test/both' }, init)
      const response = await bench().server.timer.passUntil(sending)
      expect(response.status).toBe(408)
    })

    test('the header has the same limits; the strictest of both apply', async () => {
      for (const [header, timeout] of [
        ['first_byte=2s, idle=500ms, total=60s', { first_byte: 100 }],
        ['100', { first_byte: 2 }],
      ] as const) {
        bench().first.enqueue({ hang: true })
        const started = bench().server.timer.now()
        const sending = sendRequest(
          bench(),
          'chat',
          { model: 'test/one', stream: true, provider: { timeout, allow_fallbacks: false } },
          { headers: { 'x-headgate-timeout': header } },
        )
        expect((await bench().server.timer.passUntil(sending)).status).toBe(408)
        expect(bench().server.timer.now() - started).toBeLessThan(50_000)
      }
    })

    test('another header is rejected, with the header as the field', async () => {
      for (const header of ['soon', '0', '-1', 'total=1, total=2', 'whole=3', '90000', '1,,2']) {
        const init = { headers: { 'x-headgate-timeout': header } }
        const response = await sendRequest(bench(), 'chat', { model: 'test/one' }, init)
        expect(response.status).toBe(400)
        expect((await readJson(response)).error.param).toBe('x-headgate-timeout')
      }
    })

    test.each([
      ['a provider', 'hasty', { hang: true }],
      ['an endpoint, the strictest of its own and its model', 'quick', quiet],
    ])('those of %s apply without any in the request', async (_, model, response) => {
      bench().first.enqueue(response)
      const started = bench().server.timer.now()
      const reply = await sendPassingTime(bench(), 'chat', { model: `test/${model}`, stream: true })
      expect(reply.status).toBe(408)
      expect(bench().server.timer.now() - started).toBeLessThan(100_000)
    })

    test('the limits of the operator cannot be raised', async () => {
      bench().first.enqueue({ hang: true })
      const started = bench().server.timer.now()
      const body = { model: 'test/slow', provider: { timeout: 5000 } }
      expect((await sendPassingTime(bench(), 'chat', body)).status).toBe(408)
      expect(bench().server.timer.now() - started).toBeLessThan(290_000)
    })
  },
  buildSettings,
)

describeWithUpstreamsOnSqlite(
  'retries',
  (bench) => {
    beforeEach(() => clearGenerations(bench()))
    const failure = (status: number, headers = {}) => ({
      status,
      headers,
      json: { error: { message: 'no' } },
    })

    test('of a model are made at the same endpoint before the next one', async () => {
      bench().first.enqueue(failure(500), failure(502))
      expect((await sendRequest(bench(), 'chat', { model: 'test/repeated' })).status).toBe(200)
      expect(bench().first.requests).toHaveLength(3)
      // An endpoint that has failed is tried last.
      resetRouting(bench().server)
      bench().first.enqueue(failure(500), failure(500), failure(500))
      expect((await sendRequest(bench(), 'chat', { model: 'test/repeated' })).status).toBe(200)
      expect(bench().first.requests).toHaveLength(6)
      expect(bench().second.requests).toHaveLength(1)
    })

    test('are made for the declared statuses only', async () => {
      bench().first.enqueue(failure(503))
      expect((await sendRequest(bench(), 'chat', { model: 'test/repeated' })).status).toBe(200)
      expect(bench().first.requests).toHaveLength(1)
      expect(bench().second.requests).toHaveLength(1)
    })

    test('a request has its own instead', async () => {
      bench().first.enqueue(failure(429), failure(429))
      const retry = { max_retries: 1, statuses: [429], backoff: 0.01 }
      const body = { model: 'test/repeated', provider: { retry } }
      expect((await sendRequest(bench(), 'chat', body)).status).toBe(200)
      expect(bench().first.requests).toHaveLength(2)
      expect(bench().second.requests).toHaveLength(1)
    })

    test('none are made beyond the time limit, or the longest pause', async () => {
      const retry = { max_retries: 3, statuses: [500], backoff: 60, max_backoff: 60 }
      bench().first.enqueue(failure(500), failure(500, { 'retry-after': '50' }))
      const limited = { model: 'test/one', provider: { retry, timeout: 20 } }
      expect((await sendRequest(bench(), 'chat', limited)).status).toBe(502)
      resetRouting(bench().server)
      const hinted = { model: 'test/one', provider: { retry: { ...retry, backoff: 0, max_backoff: 10 } } }
      expect((await sendRequest(bench(), 'chat', hinted)).status).toBe(502)
      expect(bench().first.requests).toHaveLength(2)
    })

    test('a pause ends with the client', async () => {
      bench().first.enqueue(failure(500))
      const client = new AbortController()
      const retry = { max_retries: 1, statuses: [500], backoff: 60, max_backoff: 60 }
      const body = { model: 'test/one', provider: { retry } }
      const sending = sendRequest(bench(), 'chat', body, { signal: client.signal })
      const [received] = await bench().first.waitForRequests(1)
      await received?.done
      client.abort()
      await expect(sending).rejects.toThrow()
      const [row] = await waitForGenerations(bench(), 1)
      expect(row).toMatchObject({ status: 'cancelled', cost_nanos: 0n })
      expect(bench().first.requests).toHaveLength(1)
    })

    test('a broken connection is retried only if that is declared', async () => {
      const broken = { breakBeforeHead: true }
      bench().first.enqueue(broken)
      const send = (connection_errors: boolean) => {
        const retry = { max_retries: 1, backoff: 0, connection_errors }
        return sendRequest(bench(), 'chat', { model: 'test/one', provider: { retry } })
      }
      expect((await send(false)).status).toBe(502)
      expect(bench().first.requests).toHaveLength(1)
      bench().first.enqueue(broken)
      expect((await send(true)).status).toBe(200)
      expect(bench().first.requests).toHaveLength(3)
      const [, row] = await listGenerations(bench())
      expect(JSON.parse(row?.attempts ?? '')).toHaveLength(1)
    })

    test('a value out of range is rejected', async () => {
      for (const retry of [{ max_retries: 6 }, { max_retries: 1, statuses: [400] }, {}]) {
        const response = await sendRequest(bench(), 'chat', { model: 'test/one', provider: { retry } })
        expect(response.status).toBe(400)
      }
    })
  },
  buildSettings,
)

describe('overrides at run time', () => {
  describeWithUpstreams(
    'of a provider, a model and an endpoint',
    (bench) => {
      test('set what is declared for attempts', async () => {
        const { server } = bench()
        const timeout = { first_byte: 7 }
        const retry = { max_retries: 1 }
        const { status } = await server.call('PUT', '/catalogue/providers/two', {
          body: { timeout, retry },
        })
        expect(status).toBe(200)
        const endpoint = server.gateway.catalog.bySlug.get('test/both')?.endpoints[1]
        expect(endpoint?.attempts).toMatchObject({ timeouts: { first_byte: 7000 }, retry: { maxRetries: 1 } })
      })
    },
    buildSettings,
    ['sqlite'],
  )
})
