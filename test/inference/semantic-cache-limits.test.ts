import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { JsonObject } from '../../src/platform/json/json-values.ts'
import { vendorReply } from '../support/replies.ts'
import { ask, buildSemanticSettings, changeSettings, clearCaches, question } from './semantic-cache-scene.ts'
import { clearGenerations, describeWithUpstreams, waitForGenerations } from './two-upstreams.ts'

/** With a model whose provider has a declared rate. */
function buildSettings(first: string, second: string): string {
  const endpoint =
    '{ provider: one-chat, upstream_model: vendor-model, rate_limits: { tokens_per_minute: 3000 }, pricing: { prompt: "0.000001", completion: "0.000004" } }'
  const model = `  - { id: test/rated, name: rated, endpoints: [${endpoint}] }\n`
  return buildSemanticSettings(first, second) + model
}

const vector = Buffer.from(new Float32Array([1, 0, 0]).buffer).toString('base64')
const embedded = {
  object: 'list',
  model: 'vendor-embedder',
  data: [{ object: 'embedding', index: 0, embedding: vector }],
  usage: { prompt_tokens: 10, total_tokens: 10 },
}

describeWithUpstreams(
  'the semantic cache with limits and rates',
  (bench) => {
    let restore: () => void

    beforeEach(async () => {
      await clearGenerations(bench())
      await clearCaches(bench())
      bench().first.setDefault({ json: vendorReply('chat', 'text').body })
      bench().second.setDefault({ json: embedded })
      restore = changeSettings(bench(), { model: 'test/embedder' })
    })
    afterEach(() => restore())

    const send = async (text: string, body: JsonObject = {}) => {
      const response = await ask(bench(), text, { body })
      await response.arrayBuffer()
      return response.status
    }
    const embeddings = () => bench().second.requests.length

    test.each([
      ['requests', 'minute'],
      ['concurrent_requests', null],
    ])('a request beyond a limit of %p pays for no embedding', async (measure, window) => {
      const { server } = bench()
      const body = { name: 'one', measure, amount: 1, per: ['key'], ...(window && { window }) }
      const limit = await server.call('POST', '/limits', { body })
      expect(limit.status).toBe(201)
      const { promise: release, resolve } = Promise.withResolvers<void>()
      bench().first.enqueue({ json: vendorReply('chat', 'text').body, waitFor: release })
      const first = send(question)
      await bench().first.waitForRequests(1)
      expect(embeddings()).toBe(1)
      expect(await send(`${question} Please`)).toBe(429)
      expect(await send(`${question} Thanks`)).toBe(429)
      expect(embeddings()).toBe(1)
      resolve()
      expect(await first).toBe(200)
      await server.call('DELETE', `/limits/${limit.body.data.id}`)
    })

    test('a request beyond the rate limit of its key pays for no embedding', async () => {
      const { gateway } = bench().server
      const { settings } = gateway
      gateway.settings = { ...settings, limits: { ...settings.limits, requests_per_minute: 1 } }
      const key = await bench().server.call('POST', '/keys', { body: { name: 'limited' } })
      const status = async (text: string) => (await ask(bench(), text, { key: key.body.key })).status
      expect(await status(question)).toBe(200)
      expect(await status(`${question} Please`)).toBe(429)
      gateway.settings = settings
      expect(embeddings()).toBe(1)
    })

    test('a request that is looked up counts once in the rate limit of its key', async () => {
      const { gateway } = bench().server
      const { settings } = gateway
      gateway.settings = { ...settings, limits: { ...settings.limits, requests_per_minute: 2 } }
      const key = await bench().server.call('POST', '/keys', { body: { name: 'limited' } })
      const status = async (text: string) => (await ask(bench(), text, { key: key.body.key })).status
      expect(await status(question)).toBe(200)
      expect(await status(`${question} Please`)).toBe(200)
      expect(await status(`${question} Thanks`)).toBe(429)
      gateway.settings = settings
    })

    test('what a request used of a declared rate is corrected, although an embedding is on its bill', async () => {
      // Each is counted as 2,048 tokens and its prompt, until its reply says that it were less than 200.
      for (const text of ['One', 'Two', 'Three', 'Four'])
        expect(await send(text, { model: 'test/rated' })).toBe(200)
      expect(embeddings()).toBe(4)
    })

    test('the record of an embedding names the embedding model, not the alias of the request', async () => {
      const { server } = bench()
      const targets = [{ model: 'test/chat', weight: 1, tag: 'arm=a' }]
      const body = { name: 'assistant', workspace_id: null, targets }
      const alias = await server.call('POST', '/model-aliases', { body })
      expect(alias.status).toBe(201)
      await send(question, { model: 'assistant' })
      const rows = await waitForGenerations(bench(), 2)
      expect(
        rows.map(({ requested_model, model, tags }) => [requested_model, model, tags]).toSorted(),
      ).toEqual([
        ['assistant', 'test/chat', 'arm=a'],
        ['test/embedder', 'test/embedder', 'arm=a'],
      ])
      await server.call('DELETE', `/model-aliases/${alias.body.data.id}`)
    })
  },
  buildSettings,
)
