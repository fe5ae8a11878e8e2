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
    ...['thresholds', 'waits', 'explained', 'refused', 'aborts', 'bounds', 'share', 'order', 'metrics'].map(
      (id) => model(id, ['one'], ten),
    ),
    model('moves', ['one', 'two'], ten),
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
  },
  buildSettings,
)
