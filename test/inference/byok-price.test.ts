import { afterAll, beforeAll, expect, test } from 'bun:test'
import { reloadSettings } from '../../src/gateway/reload.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { vendorReply } from '../support/replies.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'

let server: TestServer
let upstream: Upstream
beforeAll(async () => {
  upstream = await startUpstream()
  server = await startTestServer('sqlite', {
    settings: settings({ api_key: 'key-of-the-operator-0123456789' }),
  })
})
afterAll(async () => {
  await server.stop()
  await upstream.stop()
})

function settings(key: object): string {
  const pricing = { prompt: '0.001', completion: '0.002' }
  return JSON.stringify({
    providers: [{ slug: 'local', name: 'Local', base_url: upstream.url, dialects: ['chat'], ...key }],
    models: [
      { id: 'acme/local', name: 'Local', endpoints: [{ provider: 'local', upstream_model: 'm', pricing }] },
    ],
  })
}

async function usage() {
  upstream.enqueue({ json: vendorReply('chat', 'text').body })
  const body = { model: 'acme/local', max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] }
  const response = await server.call('POST', '/chat/completions', { key: server.own.inferenceKey, body })
  return { cost: response.body.usage.cost, is_byok: response.body.usage.is_byok }
}

test('R15 for a provider that needs no key, a BYOK key does not lower the price', async () => {
  const own = { provider: 'local', key: 'whatever' }
  const made = await server.call('POST', '/byok', { body: own })
  expect(made.status).toBe(201)
  expect(await usage()).toEqual({ cost: 0.00845, is_byok: true })
  await Bun.write(server.gateway.config.environment.HEADGATE_CONFIG ?? '', settings({}))
  reloadSettings(server.gateway)
  expect(await usage()).toEqual({ cost: 0.169, is_byok: false })
  const rejected = await server.call('POST', '/byok', { body: own })
  expect(rejected.status).toBe(400)
  expect(rejected.body.error.message).toStartWith('provider:')
})
