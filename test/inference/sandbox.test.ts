import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { measureLoopDelay } from '../support/loop-delay.ts'
import {
  clearGenerations,
  describeWithUpstreamsOnSqlite,
  type FormatName,
  formatNames,
  readJson,
  sendRequest,
  waitForGenerations,
} from './two-upstreams.ts'

function promptOf(content: string, format: FormatName = 'chat') {
  return format === 'responses' ? { input: content } : { messages: [{ role: 'user', content }] }
}

/** The longest turn of the event loop. */
const mostMs = 400

describeWithUpstreamsOnSqlite('the sandbox', (bench) => {
  for (const format of formatNames) {
    for (const stream of [false, true]) {
      test(`S13 a short request for a long reply does not block the event loop: ${format}, ${stream ? 'streamed' : 'whole'}`, async () => {
        const limit = format === 'responses' ? 'max_output_tokens' : 'max_tokens'
        const prompt = promptOf('sandbox:length=60000', format)
        const body = { model: 'sandbox/echo', stream, [limit]: 400_000, ...prompt }
        const delay = await measureLoopDelay(mostMs, async () => {
          const response = await sendRequest(bench(), format, body)
          const text = await response.text()
          expect(response.status).toBe(200)
          expect(text).toContain('quick')
        })
        expect(delay).toBeLessThan(mostMs)
      })
    }
  }

  test('S13 a short request for more than that is rejected at once', async () => {
    for (const more of [{ n: 128 }, { logprobs: true, top_logprobs: 20 }]) {
      for (const stream of [false, true]) {
        const body = { model: 'sandbox/echo', stream, ...more, ...promptOf('sandbox:length=200000') }
        const delay = await measureLoopDelay(mostMs, async () => {
          const response = await sendRequest(bench(), 'chat', body)
          expect(response.status).toBe(502)
          expect((await readJson(response)).error.message).toContain('too large')
        })
        expect(delay).toBeLessThan(mostMs)
      }
    }
  })

  test('S13 failures that one caller requests do not affect others', async () => {
    const failing = promptOf('sandbox:error=429 sandbox:retry-after=60')
    for (let times = 0; times < 6; times++) {
      const response = await sendRequest(bench(), 'chat', { model: 'sandbox/echo', ...failing })
      expect(response.status).toBe(429)
      expect(response.headers.get('retry-after')).toBe('60')
    }
    for (let times = 0; times < 6; times++) {
      expect(
        (await sendRequest(bench(), 'chat', { model: 'sandbox/echo', ...promptOf('sandbox:error=500') }))
          .status,
      ).toBe(502)
    }
    expect((await sendRequest(bench(), 'chat', { model: 'sandbox/echo', ...promptOf('Hello') })).status).toBe(
      200,
    )
  })

  for (const stream of [false, true]) {
    test(`R4 an abandoned request is recorded as cancelled: ${stream ? 'streamed' : 'whole'}`, async () => {
      await clearGenerations(bench())
      const left = new AbortController()
      const body = { model: 'sandbox/echo', stream, ...promptOf('sandbox:quiet=60000') }
      const request = sendRequest(bench(), 'chat', body, { signal: left.signal })
      request.catch(() => undefined)
      const { health } = bench().server.gateway.routing
      while (!health.find('sandbox/echo sandbox')) await Bun.sleep(1)
      await Bun.sleep(20)
      left.abort()
      const [row] = await waitForGenerations(bench(), 1)
      expect(row).toMatchObject({ status: 'cancelled', error_code: stream ? null : 'request_timeout' })
    })
  }
})

describe('the sandbox, switched off', () => {
  const settings = 'providers: [{ slug: sandbox, enabled: false }]'
  let server: TestServer
  let headers: Record<string, string>
  beforeAll(async () => {
    server = await startTestServer('sqlite', { settings })
    headers = { authorization: `Bearer ${server.own.inferenceKey}` }
  })
  afterAll(() => server.stop())

  test('is not in the catalog', async () => {
    const { data } = await readJson(fetch(`${server.url}/v1/models`, { headers }))
    expect(data.filter(({ id }: { id: string }) => id.startsWith('sandbox/'))).toEqual([])
    const providers = await readJson(fetch(`${server.url}/v1/providers`, { headers }))
    expect(providers.data.filter(({ slug }: { slug: string }) => slug === 'sandbox')).toEqual([])
  })

  test('is not served', async () => {
    const body = JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] })
    const response = await fetch(`${server.url}/v1/chat/completions`, { method: 'POST', headers, body })
    expect(response.status).toBe(400)
    expect((await readJson(response)).error.message).toContain('sandbox/echo')
  })
})
