import { beforeEach, describe, expect, test } from 'bun:test'
import { requestHolds } from '../support/holds.ts'
import { vendorReply } from '../support/replies.ts'
import { waitUntil } from '../support/wait-until.ts'
import {
  type Bench,
  clearGenerations,
  describeWithUpstreams,
  readJson,
  sendRequest,
  waitForGenerations,
} from './two-upstreams.ts'

/** At the beginning of a minute. */
const now = '2028-03-15T12:00:00.000Z'
const price = 'pricing: { prompt: "0.000001", completion: "0.000004" }'

/** Each test has models of its own: what was counted of a rate remains. */
function buildSettings(first: string, second: string): string {
  const provider = (slug: string, url: string, more = '') =>
    `  - { slug: ${slug}, name: ${slug}, base_url: "${url}", dialects: [chat], api_key: secret${more} }`
  const model = (id: string, slugs: string[], rates = '', more = '') =>
    [
      `  - id: test/${id}`,
      `    name: ${id}`,
      ...(more ? [`    ${more}`] : []),
      '    endpoints:',
      ...slugs.map(
        (slug, index) =>
          `      - { provider: ${slug}, upstream_model: vendor-model, ${price}${index === 0 && rates ? `, rate_limits: ${rates}` : ''} }`,
      ),
    ].join('\n')
  const ten = '{ requests_per_minute: 10 }'
  return [
    'limits: { heartbeat: 300, first_byte: 200, whole_reply: 200 }',
    'priorities: { longest_wait: 8, queue_length: 8, key_share: 0.5 }',
    'providers:',
    provider('one', first),
    provider('two', second),
    provider('shared', first, ', rate_limits: { requests_per_minute: 10 }'),
    `  - { slug: messages, name: messages, base_url: "${first}", dialects: [messages], api_key: secret }`,
    'models:',
    model('plain', ['one']),
    ...[
      'thresholds',
      'waits',
      'explained',
      'refused',
      'aborts',
      'gone',
      'bounds',
      'share',
      'order',
      'stopped',
      'ruled',
    ].map((id) => model(id, ['one'], ten)),
    model('moves', ['one', 'two'], ten),
    model('hedged', ['two', 'one'], '{ requests_per_minute: 1 }'),
    model('retried', ['one'], ten, 'retry: { max_retries: 2, statuses: [500], backoff: 0 }'),
    model('edited', ['one']),
    model('falls-back', ['one'], ten, 'fallbacks: { rate_limit: [test/plain] }'),
    model('tokens', ['one'], '{ tokens_per_minute: 10000 }'),
    model('shared-a', ['shared']),
    model('shared-b', ['shared']),
    model('learned', ['one']),
    model('limited', ['one']),
    model('anthropic', ['messages']),
  ].join('\n')
}

const { body: reply, frames } = vendorReply('chat', 'text')

async function createKey({ server }: Bench, body: Record<string, unknown> = {}): Promise<string> {
  const created = await server.call('POST', '/keys', { body: { name: 'key', ...body } })
  expect(created.status).toBe(201)
  return created.body.key
}

const withPriority = (priority: string) => ({ headers: { 'x-headgate-priority': priority } })

describeWithUpstreams(
  'priorities',
  (bench) => {
    beforeEach(async () => {
      bench().server.clock.freeze(now)
      bench().server.gateway.upstreams.rates.learned.clear()
      for (const upstream of [bench().first, bench().second]) upstream.setDefault({ json: reply })
      await clearGenerations(bench())
    })

    const send = async (
      model: string,
      priority: string | null,
      init: RequestInit & { key?: string } = {},
    ) => {
      const key = init.key ?? (await createKey(bench(), { max_priority: 'high' }))
      const headers = { ...init.headers, ...(priority && { 'x-headgate-priority': priority }) }
      return sendRequest(bench(), 'chat', { model: `test/${model}` }, { ...init, key, headers })
    }
    const sendOk = async (model: string, priority: string | null, count: number) => {
      for (let sent = 0; sent < count; sent++) {
        const response = await send(model, priority)
        await response.text()
        expect(response.status).toBe(200)
      }
    }
    const metric = async (name: string) => {
      const { body } = await bench().server.gateway.metrics.render()
      return Number(
        body
          .split('\n')
          .find((line) => line.startsWith(`${name} `))
          ?.split(' ')
          .at(-1) ?? 0,
      )
    }
    const expectNoHolds = async () =>
      waitUntil(
        async () => (await requestHolds(bench().server.gateway.db).selectAll().execute()).length === 0,
      )
    const waiting = () => bench().server.gateway.upstreams.rates.waiting
    const waitForQueue = (length: number) => waitUntil(() => waiting() === length)
    /** Lets time pass for the windows of rates, and serves the queues, as the timer does several times a second. */
    const pass = (ms: number) => {
      bench().server.clock.advance(ms)
      bench().server.timer.advance(250)
    }

    describe('of keys and requests', () => {
      test('a key is created, shown and changed with them', async () => {
        const { server } = bench()
        const created = await server.call('POST', '/keys', { body: { name: 'k', priority: 'low' } })
        expect(created.body.data).toMatchObject({ priority: 'low', max_priority: null })
        const own = await sendCurrentKey(created.body.key)
        expect(own.data).toMatchObject({ priority: 'low', max_priority: null })
        const path = `/keys/${created.body.data.hash}`
        const changed = await server.call('PATCH', path, {
          body: { priority: 'normal', max_priority: 'high' },
        })
        expect(changed.body.data).toMatchObject({ priority: 'normal', max_priority: 'high' })
        const wrong = await server.call('PATCH', path, { body: { max_priority: 'low' } })
        expect(wrong.status).toBe(400)
        expect(wrong.body.error.message).toContain('max_priority')
      })

      test('a request may be lower than its key, but not higher than it allows', async () => {
        const key = await createKey(bench())
        for (const [init, body, param] of [
          [withPriority('high'), {}, 'x-headgate-priority'],
          [{}, { provider: { priority: 'high' } }, 'provider.priority'],
          [withPriority('urgent'), {}, 'x-headgate-priority'],
        ] as const) {
          const response = await sendRequest(
            bench(),
            'chat',
            { model: 'test/plain', ...body },
            { ...init, key },
          )
          expect(response.status).toBe(400)
          expect((await readJson(response)).error.message).toContain(param)
        }
        for (const [init, body] of [
          [withPriority('low'), {}],
          [{}, { provider: { priority: 'low' } }],
        ] as const) {
          const response = await sendRequest(
            bench(),
            'chat',
            { model: 'test/plain', ...body },
            { ...init, key },
          )
          expect(response.status).toBe(200)
        }
        expect(bench().first.requests.at(-1)?.text).not.toContain('priority')
      })

      const sendCurrentKey = async (key: string) =>
        readJson(fetch(`${bench().server.url}/api/v1/key`, { headers: { authorization: `Bearer ${key}` } }))
    })

    test('a declared rate: low passes up to 70 %, normal up to 90 %, high up to all of it', async () => {
      await sendOk('thresholds', 'low', 7)
      const low = send('thresholds', 'low')
      await waitForQueue(1)
      await sendOk('thresholds', null, 2)
      const normal = send('thresholds', null)
      await waitForQueue(2)
      await sendOk('thresholds', 'high', 1)
      const high = send('thresholds', 'high')
      await waitForQueue(3)
      expect(bench().first.requests).toHaveLength(10)
      pass(120_000)
      for (const sending of [low, normal, high]) await (await sending).text()
      expect(waiting()).toBe(0)
    })

    test('what waited is on the record, in the metadata and in the metrics', async () => {
      await sendOk('explained', 'low', 7)
      const sending = send('explained', 'low', { headers: { 'x-service-metadata': 'enabled' } })
      await waitForQueue(1)
      expect(await metric('headgate_rate_queue_length{priority="low"}')).toBe(1)
      bench().server.timer.advance(2000)
      expect(waiting()).toBe(1)
      pass(120_000)
      const response = await readJson(sending)
      expect(response.service_metadata.rates).toMatchObject({ priority: 'low', passed_over: [] })
      expect(response.service_metadata.rates.waited_ms).toBeGreaterThanOrEqual(2000)
      const rows = await waitForGenerations(bench(), 8)
      const [row] = rows.filter(({ queued_ms }) => queued_ms !== null)
      expect(row?.queued_ms).toBeGreaterThanOrEqual(2000)
      const { body } = await bench().server.call('GET', `/generation/explanation?id=${row?.id}`)
      expect(body.data.queued).toBe(row?.queued_ms ?? -1)
      expect(await metric('headgate_rate_queue_length{priority="low"}')).toBe(0)
      expect(await metric('headgate_rate_wait_seconds_count{priority="low"}')).toBeGreaterThan(0)
    })

    test('a routing rule sets the priority, at most that of the key', async () => {
      const { server } = bench()
      const rule = (name: string, priority: string) =>
        server.call('POST', '/routing-rules', {
          body: { name, when: `end_user == "${name}"`, then: { provider: { priority } } },
        })
      expect((await rule('batch', 'low')).status).toBe(201)
      expect((await rule('vip', 'high')).status).toBe(201)
      await sendOk('ruled', 'low', 7)
      const [normal, any] = [await createKey(bench()), await createKey(bench(), { max_priority: 'high' })]
      const sendFor = (user: string, key: string) =>
        sendRequest(bench(), 'chat', { model: 'test/ruled', user }, { key })
      const low = sendFor('batch', any)
      await waitForQueue(1)
      await sendOk('ruled', null, 2)
      const limited = sendFor('vip', normal)
      await waitForQueue(2)
      expect((await sendFor('vip', any)).status).toBe(200)
      pass(120_000)
      for (const sending of [low, limited]) expect((await sending).status).toBe(200)
    })

    test('a stream waits like a whole reply', async () => {
      bench().first.setDefault(({ json }) => (json.stream ? { sse: frames } : { json: reply }))
      await sendOk('waits', 'low', 7)
      const key = await createKey(bench(), { priority: 'low' })
      const sending = sendRequest(bench(), 'chat', { model: 'test/waits', stream: true }, { key })
      await waitForQueue(1)
      pass(120_000)
      expect(await (await sending).text()).toContain('[DONE]')
    })

    test('one that waits too long is rejected with a time to retry, and its hold is released', async () => {
      await sendOk('refused', 'low', 7)
      const sending = send('refused', 'low')
      await waitForQueue(1)
      expect(await requestHolds(bench().server.gateway.db).selectAll().execute()).toHaveLength(1)
      bench().server.timer.advance(8000)
      const response = await sending
      expect(response.status).toBe(429)
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(50)
      expect((await readJson(response)).error).toMatchObject({
        code: 429,
        metadata: {
          reason: 'provider_rate_used',
          provider: 'one',
          endpoint: 'one',
          priority: 'low',
          cause: 'timeout',
        },
      })
      await expectNoHolds()
      const refusals = 'headgate_rate_refusals_total{provider="one",priority="low",cause="timeout"}'
      expect(await metric(refusals)).toBeGreaterThan(0)
    })

    test('one whose client disconnects leaves the queue at once, and its hold is released', async () => {
      await sendOk('aborts', 'low', 7)
      const client = new AbortController()
      const sending = send('aborts', 'low', { signal: client.signal }).catch(() => null)
      await waitForQueue(1)
      client.abort()
      await waitForQueue(0)
      await sending
      await expectNoHolds()
      expect(bench().first.requests).toHaveLength(7)
      // It has counted nothing.
      await sendOk('aborts', 'high', 3)
    })

    test('one whose client disconnects while its room is taken has used nothing of the rate', async () => {
      const { cluster } = bench().server.gateway
      const take = cluster.take.bind(cluster)
      const client = new AbortController()
      const init = { signal: client.signal }
      await sendOk('gone', 'low', 7)
      const sending = [send('gone', 'low', init)]
      await waitForQueue(1)
      cluster.take = async (name, ...terms) => {
        const taken = await take(name, ...terms)
        if (!name.startsWith('rate endpoint ')) return taken
        client.abort()
        // Then the server has noticed.
        await waitForQueue(0)
        return taken
      }
      sending.push(send('gone', 'high', init))
      await Promise.allSettled(sending)
      await expectNoHolds()
      cluster.take = take
      expect(bench().first.requests).toHaveLength(7)
      await sendOk('gone', 'high', 3)
    })

    test('a queue is bounded, a key has a share of it, and a higher priority displaces a lower one', async () => {
      await sendOk('bounds', 'high', 10)
      const newKey = () => createKey(bench(), { max_priority: 'high' })
      const [first, second, third] = [await newKey(), await newKey(), await newKey()]
      const rejected = async (sending: Promise<Response>) => (await readJson(sending)).error.metadata.cause
      const queued = Array.from({ length: 4 }, () => send('bounds', 'low', { key: first }))
      await waitForQueue(4)
      expect(await rejected(send('bounds', 'low', { key: first }))).toBe('key_share')
      queued.push(...Array.from({ length: 4 }, () => send('bounds', 'low', { key: second })))
      await waitForQueue(8)
      expect(await rejected(send('bounds', 'low', { key: third }))).toBe('queue_full')
      const high = send('bounds', 'high', { key: third })
      expect(await rejected(Promise.race(queued))).toBe('displaced')
      expect(waiting()).toBe(8)
      pass(120_000)
      pass(120_000)
      const statuses = (await Promise.all([...queued, high])).map(({ status }) => status)
      expect(statuses.filter((status) => status === 200)).toHaveLength(8)
      expect((await high).status).toBe(200)
    })

    test('higher priorities pass first, whatever the order of their arrival', async () => {
      await sendOk('order', 'high', 10)
      const low = send('order', 'low')
      await waitForQueue(1)
      const normal = send('order', null)
      await waitForQueue(2)
      const high = send('order', 'high')
      await waitForQueue(3)
      // A tenth of the requests before have left the window.
      pass(66_000)
      expect((await high).status).toBe(200)
      expect(waiting()).toBe(2)
      pass(12_000)
      expect((await normal).status).toBe(200)
      expect(waiting()).toBe(1)
      pass(60_000)
      expect((await low).status).toBe(200)
    })

    test('another candidate that has room is used before anything waits', async () => {
      await sendOk('moves', 'low', 7)
      const moved = await readJson(send('moves', 'low', { headers: { 'x-service-metadata': 'enabled' } }))
      expect(moved.provider).toBe('two')
      expect(moved.service_metadata.rates).toMatchObject({
        waited_ms: 0,
        passed_over: [{ model: 'test/moves', endpoint: 'one' }],
      })
      expect((await readJson(send('moves', 'high'))).provider).toBe('one')
      expect(await metric('headgate_rate_moves_total{provider="one",priority="low"}')).toBeGreaterThan(0)
    })

    test('a fallback for rate limits serves what has waited too long', async () => {
      await sendOk('falls-back', 'low', 7)
      const sending = send('falls-back', 'low')
      await waitForQueue(1)
      bench().server.timer.advance(8000)
      expect((await readJson(sending)).model).toBe('test/plain')
    })

    test('tokens are counted by estimate, and corrected by what was used', async () => {
      const gate = Promise.withResolvers<void>()
      bench().first.enqueue({ json: reply, waitFor: gate.promise })
      const sendLong = async () => {
        const key = await createKey(bench(), { priority: 'low' })
        return sendRequest(bench(), 'chat', { model: 'test/tokens', max_tokens: 6000 }, { key })
      }
      const first = sendLong()
      await bench().first.waitForRequests(1)
      const second = sendLong()
      await waitForQueue(1)
      gate.resolve()
      expect((await first).status).toBe(200)
      await (await first).text()
      bench().server.timer.advance(250)
      expect((await second).status).toBe(200)
    })

    test('a rate of a provider counts all its endpoints', async () => {
      await sendOk('shared-a', 'low', 5)
      await sendOk('shared-b', 'low', 2)
      const waits = send('shared-b', 'low')
      await waitForQueue(1)
      await sendOk('shared-a', 'high', 1)
      pass(120_000)
      expect((await waits).status).toBe(200)
    })

    test('rates are learned from the headers of OpenAI', async () => {
      const headers = {
        'x-ratelimit-limit-requests': '100',
        'x-ratelimit-remaining-requests': '26',
        'x-ratelimit-reset-requests': '1m0s',
        'x-ratelimit-limit-tokens': '1000000',
        'x-ratelimit-remaining-tokens': '990000',
        'x-ratelimit-reset-tokens': '600ms',
      }
      bench().first.enqueue({ json: reply, headers })
      await sendOk('learned', 'low', 1)
      const low = send('learned', 'low')
      await waitForQueue(1)
      await sendOk('learned', null, 1)
      bench().server.timer.advance(5000)
      expect((await low).status).toBe(200)
    })

    test('rates are learned from the headers of Anthropic', async () => {
      const { body } = vendorReply('messages', 'text')
      bench().first.setDefault({ json: body })
      const headers = {
        date: new Date(now).toUTCString(),
        'anthropic-ratelimit-requests-limit': '50',
        'anthropic-ratelimit-requests-remaining': '49',
        'anthropic-ratelimit-requests-reset': '2028-03-15T12:00:02Z',
        'anthropic-ratelimit-input-tokens-limit': '40000',
        'anthropic-ratelimit-input-tokens-remaining': '10000',
        'anthropic-ratelimit-input-tokens-reset': '2028-03-15T12:00:20Z',
      }
      bench().first.enqueue({ json: body, headers })
      await sendOk('anthropic', 'low', 1)
      const low = send('anthropic', 'low')
      await waitForQueue(1)
      await sendOk('anthropic', 'high', 1)
      bench().server.timer.advance(4000)
      expect((await low).status).toBe(200)
    })

    test('a hedge is counted, and not sent where there is no room', async () => {
      const hedged = async (isSecondFree: boolean) => {
        const key = await createKey(bench())
        const provider = { hedge: { after: 5 }, order: ['one', 'two'] }
        const gate = Promise.withResolvers<void>()
        const sent = bench().first.requests.length
        bench().first.enqueue({ json: reply, waitFor: gate.promise })
        const sending = sendRequest(bench(), 'chat', { model: 'test/hedged', provider }, { key })
        await bench().first.waitForRequests(sent + 1)
        bench().server.timer.advance(6000)
        if (isSecondFree) await bench().second.waitForRequests(1)
        else gate.resolve()
        const { provider: served } = await readJson(sending)
        gate.resolve()
        return served
      }
      expect(await hedged(true)).toBe('two')
      expect(await hedged(false)).toBe('one')
      expect(bench().second.requests).toHaveLength(1)
    })

    test('a retry is counted like any request', async () => {
      bench().first.enqueue({ status: 500, json: { error: {} } }, { status: 500, json: { error: {} } })
      await sendOk('retried', 'low', 5)
      const waits = send('retried', 'low')
      await waitForQueue(1)
      expect(bench().first.requests).toHaveLength(7)
      pass(120_000)
      expect((await waits).status).toBe(200)
    })

    test('a rate can be declared through the API', async () => {
      const path = '/catalogue/models/test/edited/endpoints/one'
      const wrong = await bench().server.call('PUT', path, { body: { rate_limits: {} } })
      expect(wrong.status).toBe(400)
      expect(wrong.body.error.message).toContain('rate_limits')
      const body = { rate_limits: { requests_per_minute: 2 } }
      expect((await bench().server.call('PUT', path, { body })).status).toBe(200)
      await sendOk('edited', 'low', 1)
      const waits = send('edited', 'low')
      await waitForQueue(1)
      pass(120_000)
      expect((await waits).status).toBe(200)
    })

    test('a shutdown ends all waits', async () => {
      await sendOk('stopped', 'low', 7)
      const waits = send('stopped', 'low')
      await waitForQueue(1)
      bench().server.gateway.upstreams.rates.stop()
      expect((await waits).status).toBe(503)
      await expectNoHolds()
    })

    test('those that wait stay while a cooldown lasts', async () => {
      const headers = {
        'x-ratelimit-limit-requests': '10',
        'x-ratelimit-remaining-requests': '3',
        // Real time passes too: neither this window nor the longest wait may end before the cooldown begins.
        'x-ratelimit-reset-requests': '4s',
      }
      bench().first.enqueue({ json: reply, headers })
      await sendOk('limited', 'low', 1)
      const low = send('limited', 'low')
      await waitForQueue(1)
      bench().first.enqueue({ status: 429, headers: { 'retry-after': '5' }, json: { error: {} } })
      expect((await send('limited', 'high')).status).toBe(429)
      bench().server.timer.advance(4000)
      await Bun.sleep(20)
      expect(waiting()).toBe(1)
      pass(5000)
      expect((await low).status).toBe(200)
    })
  },
  buildSettings,
)
