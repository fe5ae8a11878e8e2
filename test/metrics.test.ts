import { beforeEach, expect, test } from 'bun:test'
import { describeWithUpstreams, formats, sendRequest } from './inference/two-upstreams.ts'
import { readSeries, type Series } from './support/metrics.ts'
import { vendorErrors, vendorReply } from './support/replies.ts'

const { body: reply, frames } = vendorReply('chat', 'text')
const price = 'pricing: { prompt: "0.000001", completion: "0.000004" }'

function buildSettings(first: string, second: string): string {
  const provider = (slug: string, url: string) =>
    `  - { slug: ${slug}, name: The ${slug}, base_url: "${url}", dialects: [chat], api_key: secret, wildcards: ["${slug}/*"] }`
  const endpoint = (slug: string) => `      - { provider: ${slug}, upstream_model: vendor-model, ${price} }`
  const model = (id: string, ...slugs: string[]) =>
    [`  - id: test/${id}`, `    name: ${id}`, '    endpoints:', ...slugs.map(endpoint)].join('\n')
  return [
    'metrics: { by_key: true, max_label_values: 20 }',
    'billing: { unknown_price: zero }',
    'providers:',
    provider('one', first),
    provider('two', second),
    'models:',
    ...['plain', 'streamed', 'failing', 'waits', 'cached'].map((id) => model(id, 'one')),
    model('both', 'one', 'two'),
  ].join('\n')
}

/** The labels of each metric of the tables. */
function readDocumented(page: string): Map<string, string[]> {
  const rows = [...page.matchAll(/^\| (`headgate_[^|]+)\|([^|]*)\|/gm)]
  const quoted = (text: string) => [...text.matchAll(/`([a-z0-9_*]+)`/g)].map(([, word = '']) => word)
  return new Map(
    rows.flatMap(([, names = '', labels = '']) =>
      quoted(names).map((name) => [name, quoted(labels)] as const),
    ),
  )
}

describeWithUpstreams(
  'metrics of requests to models',
  (bench) => {
    beforeEach(() => {
      for (const upstream of [bench().first, bench().second]) upstream.setDefault({ json: reply })
    })

    const read = async (): Promise<Series[]> =>
      readSeries(await (await fetch(`${bench().server.url}/metrics`)).text())
    const find = async (name: string, labels: Record<string, string>) =>
      (await read()).filter(
        (series) =>
          series.name === name &&
          Object.entries(labels).every(([key, value]) => series.labels[key] === value),
      )
    const sum = async (name: string, labels: Record<string, string>) =>
      (await find(name, labels)).reduce((total, { value }) => total + value, 0)
    const send = async (model: string, more: Record<string, unknown> = {}, init: RequestInit = {}) => {
      const response = await sendRequest(bench(), 'chat', { model, ...more }, init)
      return { status: response.status, body: await response.text() }
    }

    test('a request is counted by model, provider, endpoint, workspace, operation and key', async () => {
      expect((await send('test/plain')).status).toBe(200)
      const [requests] = await find('headgate_requests_total', { model: 'test/plain' })
      const { workspace } = requests?.labels ?? {}
      expect(requests).toMatchObject({
        labels: { provider: 'one', operation: 'chat', outcome: 'completed', workspace: expect.any(String) },
        value: 1,
      })
      const of = { model: 'test/plain', provider: 'one', operation: 'chat' }
      const { usage } = reply as { usage: { prompt_tokens: number; completion_tokens: number } }
      const tokens = await find('headgate_tokens_total', of)
      expect(tokens.reduce((total, { value }) => total + value, 0)).toBe(
        usage.prompt_tokens + usage.completion_tokens,
      )
      expect(await sum('headgate_cost_usd_total', of)).toBeCloseTo(
        usage.prompt_tokens * 0.000001 + usage.completion_tokens * 0.000004,
        9,
      )
      expect(await find('headgate_attempts_total', of)).toMatchObject([
        { labels: { endpoint: 'one', outcome: 'ok' }, value: 1 },
      ])
      expect(await sum('headgate_request_duration_seconds_count', of)).toBe(1)
      expect(await sum('headgate_request_duration_seconds_bucket', { ...of, le: '600' })).toBe(1)
      expect(await find('headgate_time_to_first_token_seconds_count', of)).toEqual([])
      const [info] = await find('headgate_workspace_info', { workspace: workspace ?? '' })
      expect(info?.labels.slug).toBe('default')
      const hash = (await bench().server.call('GET', '/keys')).body.data.map(
        (key: { hash: string }) => key.hash,
      )
      const [key] = await find('headgate_key_requests_total', { outcome: 'completed' })
      expect(hash).toContain(key?.labels.key)
    })

    test('a stream has a time to its first token and a time for each further one', async () => {
      bench().first.setDefault({ sse: frames })
      expect((await send('test/streamed', { stream: true })).status).toBe(200)
      const of = { model: 'test/streamed' }
      expect(await sum('headgate_time_to_first_token_seconds_count', of)).toBe(1)
      expect(await sum('headgate_time_per_output_token_seconds_count', of)).toBe(1)
    })

    test('an attempt that fails is counted at its endpoint, with the failover, although the request succeeds', async () => {
      bench().first.setDefault({ status: 500, json: vendorErrors.chat('broken') })
      for (let sent = 0; sent < 6; sent++)
        expect((await send('test/both', { provider: { order: ['one'] } })).status).toBe(200)
      const one = { model: 'test/both', provider: 'one' }
      expect(await sum('headgate_attempts_total', { ...one, outcome: 'error' })).toBe(
        await sum('headgate_failovers_total', one),
      )
      expect(await sum('headgate_failovers_total', one)).toBeGreaterThanOrEqual(5)
      const [error] = await find('headgate_attempts_total', { ...one, outcome: 'error' })
      expect(error?.labels.error_type).toBe('provider_unavailable')
      expect(
        await sum('headgate_requests_total', { model: 'test/both', provider: 'two', outcome: 'completed' }),
      ).toBe(6)
      expect(await sum('headgate_endpoint_ejections_total', one)).toBe(1)
      expect(await find('headgate_endpoint_restricted', one)).toMatchObject([
        { labels: { reason: 'ejection' } },
      ])
    })

    test('a request that fails everywhere has failed, and a Retry-After is a cooldown', async () => {
      const headers = { 'retry-after': '60' }
      bench().first.setDefault({ status: 429, json: vendorErrors.chat('slow down'), headers })
      expect((await send('test/failing')).status).toBe(429)
      const of = { model: 'test/failing', provider: 'one' }
      expect(await sum('headgate_requests_total', { ...of, outcome: 'failed' })).toBe(1)
      expect(await sum('headgate_attempts_total', { ...of, error_type: 'rate_limit_exceeded' })).toBe(1)
      expect(await sum('headgate_endpoint_cooldowns_total', of)).toBe(1)
      expect(await sum('headgate_failovers_total', of)).toBe(0)
      // While it cools down, no provider is called.
      expect((await send('test/failing')).status).toBe(429)
      expect(
        await sum('headgate_requests_total', { model: 'none', outcome: 'rejected' }),
      ).toBeGreaterThanOrEqual(1)
    })

    test('a cached reply is a request without an attempt', async () => {
      const cached = { headers: { 'x-service-cache': 'true' } }
      await send('test/cached', {}, cached)
      await send('test/cached', {}, cached)
      const of = { model: 'test/cached', provider: 'one' }
      expect(await sum('headgate_requests_total', { ...of, outcome: 'cached' })).toBe(1)
      expect(await sum('headgate_attempts_total', of)).toBe(1)
    })

    test('a limit that rejects a request is counted with what it measures', async () => {
      const { body } = await bench().server.call('POST', '/keys', { body: { name: 'poor', limit: 0 } })
      const init = { headers: { authorization: `Bearer ${body.key}`, 'content-type': 'application/json' } }
      const response = await fetch(bench().server.url + formats.chat.path, {
        method: 'POST',
        ...init,
        body: JSON.stringify({ ...formats.chat.body, model: 'test/plain' }),
      })
      expect(response.status).toBe(402)
      expect(await find('headgate_limits_reached_total', { limit: 'key' })).toMatchObject([
        { labels: { measure: 'usd', window: 'lifetime' }, value: 1 },
      ])
      expect(await sum('headgate_rejections_total', { code: 'key_limit_reached' })).toBe(1)
    })

    test('the documentation lists every metric, with its labels', async () => {
      const page = await Bun.file('docs/observability.md').text()
      const documented = readDocumented(page)
      const series = (await read()).filter(({ name }) => !/^headgate_(process|nodejs)_/.test(name))
      expect(series.length).toBeGreaterThan(50)
      for (const { name, labels } of series) {
        const documentedLabels =
          documented.get(name) ?? documented.get(name.replace(/_(bucket|sum|count)$/, ''))
        expect(documentedLabels, name).toBeDefined()
        for (const label of Object.keys(labels))
          if (label !== 'le') expect([name, ...(documentedLabels ?? [])]).toContain(label)
      }
    })

    test('a client that names ever more models adds a bounded number of series', async () => {
      for (let sent = 0; sent < 40; sent++) expect((await send(`one/new-${sent}`)).status).toBe(200)
      const models = new Set((await find('headgate_attempts_total', {})).map(({ labels }) => labels.model))
      expect(models.size).toBeLessThanOrEqual(21)
      expect(
        await sum('headgate_attempts_total', { model: 'other', provider: 'one', outcome: 'ok' }),
      ).toBeGreaterThanOrEqual(20)
    })
  },
  buildSettings,
)
