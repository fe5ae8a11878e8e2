import { beforeEach, expect, test } from 'bun:test'
import {
  clearGenerations,
  describeWithUpstreamsOnSqlite,
  type FormatName,
  lastRequest,
  readJson,
  sendRequest,
  waitForGenerations,
} from './two-upstreams.ts'

const price = 'pricing: { prompt: "0.000001", completion: "0.000001" }'
const settings = (first: string) => `
web: { engine: sandbox }
providers:
  - { slug: one, name: One, base_url: "${first}", dialects: [chat], api_key: vendor-secret }
models:
  - id: test/plain-1
    name: Plain
    endpoints: [{ provider: one, upstream_model: plain, ${price} }]
  - id: test/plain-1:free
    name: Plain, free
    endpoints: [{ provider: one, upstream_model: plain-free, pricing: { prompt: "0", completion: "0" } }]
  - id: test/deep-1
    name: Deep
    reasoning: { mandatory: false, supported_efforts: [high, medium, low, none] }
    endpoints: [{ provider: one, upstream_model: deep, ${price} }]
  - id: test/own-1
    name: Own
    reasoning: { mandatory: false }
    endpoints: [{ provider: one, upstream_model: own, ${price} }]
  - id: test/own-1:thinking
    name: Own, thinking
    reasoning: { mandatory: true }
    endpoints: [{ provider: one, upstream_model: own-thinking, ${price} }]
  - id: test/always-1
    name: Always
    reasoning: { mandatory: true, supported_efforts: [high, medium, low] }
    endpoints: [{ provider: one, upstream_model: always, ${price} }]
`

describeWithUpstreamsOnSqlite(
  'variants',
  (bench) => {
    beforeEach(() => clearGenerations(bench()))
    const sent = async (format: FormatName, body: Record<string, unknown>) => {
      const response = await sendRequest(bench(), format, body)
      expect([response.status, await response.text()]).toEqual([200, expect.any(String)])
      return lastRequest(bench().first.requests).json
    }

    test.each([
      [['test/plain-1:free'], [403, 200]],
      [['test/plain-1'], [200, 200]],
    ])('E15 a guardrail that allows %j', async (allowed_models, statuses) => {
      const { server } = bench()
      const made = await server.call('POST', '/keys', { body: { name: 'variant' } })
      const guardrail = await server.call('POST', '/guardrails', {
        body: { name: `variants ${allowed_models}`, allowed_models },
      })
      await server.call('POST', `/guardrails/${guardrail.body.data.id}/assignments/keys`, {
        body: { key_hashes: [made.body.data.hash] },
      })
      const models = ['test/plain-1', 'test/plain-1:free']
      const responses = models.map((model) => sendRequest(bench(), 'chat', { model }, { key: made.body.key }))
      expect((await Promise.all(responses)).map(({ status }) => status)).toEqual(statuses)
    })

    test.each(['chat', 'responses', 'messages'] as const)(
      ':thinking enables reasoning by default: %s',
      async (format) => {
        expect((await sent(format, { model: 'test/deep-1:thinking' })).reasoning_effort).toBe('medium')
        expect(await sent(format, { model: 'test/deep-1' })).not.toHaveProperty('reasoning_effort')
        const [row] = await waitForGenerations(bench(), 1)
        expect(row).toMatchObject({ requested_model: 'test/deep-1:thinking', model: 'test/deep-1' })
      },
    )

    test(':thinking is overridden by the request', async () => {
      const effort = async (fields: Record<string, unknown>) =>
        (await sent('chat', { model: 'test/deep-1:thinking', ...fields })).reasoning_effort
      expect(await effort({ reasoning: { effort: 'low' } })).toBe('low')
      expect(await effort({ reasoning: { enabled: false } })).toBe('none')
      expect(await effort({ reasoning: { exclude: true } })).toBe('medium')
    })

    test('a model named :thinking is that model, and a model without reasoning has no such variant', async () => {
      const own = await sent('chat', { model: 'test/own-1:thinking' })
      expect(own.model).toBe('own-thinking')
      expect(own).not.toHaveProperty('reasoning_effort')
      const unknown = await sendRequest(bench(), 'chat', { model: 'test/plain-1:thinking' })
      expect(unknown.status).toBe(400)
      expect((await readJson(unknown)).error.message).toContain('test/plain-1:thinking')
    })

    test(':online and combinations of suffixes do not fail', async () => {
      expect((await sent('chat', { model: 'test/plain-1:online' })).model).toBe('plain')
      expect((await sent('chat', { model: 'test/plain-1:free:online' })).model).toBe('plain-free')
      expect((await sent('chat', { model: 'test/deep-1:thinking:nitro' })).reasoning_effort).toBe('medium')
      for (const suffix of ['extended', 'batch', 'free']) {
        expect((await sendRequest(bench(), 'chat', { model: `test/deep-1:${suffix}` })).status).toBe(400)
      }
    })

    const off = [
      { reasoning: { effort: 'none' } },
      { reasoning: { enabled: false } },
      { reasoning: { max_tokens: 0 } },
    ]

    test.each(off)('a model that always reasons rejects turning it off: %j', async (fields) => {
      for (const format of ['chat', 'responses'] as const) {
        const rejected = await sendRequest(bench(), format, { model: 'test/always-1', ...fields })
        expect(rejected.status).toBe(400)
        expect((await readJson(rejected)).error.message).toStartWith('reasoning')
      }
      expect(bench().first.requests).toEqual([])
    })

    test.each(off)('the latest of a family uses the lowest effort instead: %j', async (fields) => {
      const body = await sent('chat', { model: '~test/always-latest', ...fields })
      expect([body.model, body.reasoning_effort]).toEqual(['always', 'low'])
    })

    test('other efforts map to the nearest supported one', async () => {
      for (const model of ['test/always-1', '~test/always-latest']) {
        expect((await sent('chat', { model, reasoning: { effort: 'xhigh' } })).reasoning_effort).toBe('high')
        expect((await sent('chat', { model, reasoning: { effort: 'minimal' } })).reasoning_effort).toBe('low')
      }
    })

    test('of several models, one whose reasoning can be turned off is used', async () => {
      const body = await sent('chat', { models: ['test/always-1', 'test/deep-1'], ...off[0] })
      expect([body.model, body.reasoning_effort]).toEqual(['deep', 'none'])
    })

    test('Messages clients that turn thinking off are not rejected', async () => {
      const body = await sent('messages', { model: 'test/always-1', thinking: { type: 'disabled' } })
      expect(body.reasoning_effort).toBe('low')
    })
  },
  settings,
)
