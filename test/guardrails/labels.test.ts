import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  buildEgressSettings,
  createWebhook,
  deliver,
  Receiver,
  useListExporter,
} from '../delivery/support.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { setKeyGuardrail } from './support.ts'

const receiver = new Receiver()
const restoreExporter = useListExporter()
let server: TestServer
beforeAll(async () => {
  server = await startTestServer('sqlite', { settings: buildEgressSettings(receiver) })
  await createWebhook(server, receiver.url(), { broadcast_generation_request_context: true })
})
afterAll(async () => {
  restoreExporter()
  await server.stop()
  await receiver.stop()
})

const secret = 'canary-4711'
const filterWith = (action: string) => ({
  content_filters: [{ pattern: 'canary-[0-9]+', action, label: '[CANARY]' }],
})

function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${server.url}/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.own.inferenceKey}`, ...headers },
    body: JSON.stringify(body),
  })
}

const labeled = {
  session_id: `session ${secret}`,
  trace: { trace_name: secret, generation_name: secret, customer: secret, [secret]: { deep: [secret] } },
}
const headers = { 'x-title': `App of ${secret}`, 'http-referer': `https://example.com/${secret}` }

describe('R35 R40 what records and destinations have of a request besides its prompt', () => {
  const embed = { model: 'sandbox/embedder', input: 'Hello' }
  const chat = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }

  test.each([
    ['redact', '/chat/completions', chat],
    ['block', '/chat/completions', { ...chat, stream: true }],
    ['block', '/embeddings', embed],
  ])('is redacted by a filter with the action %s: %s', async (action, path, body) => {
    await setKeyGuardrail(server, filterWith(action))
    receiver.reset()
    const response = await post(
      path,
      { ...body, ...labeled },
      {
        ...headers,
        ...{ 'x-openwebui-user-id': secret, 'x-headgate-tags': `customer=${secret}` },
      },
    )
    expect([response.status, await response.text()]).toEqual([200, expect.not.stringContaining(secret)])
    await deliver(server)
    const [event] = receiver.events()
    expect(event).toMatchObject({
      sessionId: 'session [CANARY]',
      externalUser: '[CANARY]',
      tags: ['customer=[CANARY]'],
      trace: { traceName: '[CANARY]', metadata: { customer: '[CANARY]' } },
    })
    expect(JSON.stringify(receiver.events())).not.toContain(secret)
    const { db } = server.gateway
    const rows = await db.selectFrom('generations').select(['app_title', 'app_url', 'session_id']).execute()
    expect(rows.at(-1)).toEqual({
      app_title: 'App of [CANARY]',
      app_url: 'https://example.com/[CANARY]',
      session_id: 'session [CANARY]',
    })
    const hits = await db.selectFrom('guardrail_hits').selectAll().execute()
    expect(hits.at(-1)).toMatchObject({ rule: '[CANARY]', action: 'redact', part: 'parameter' })
  })
})

test('R35 a response repeats what was sent, not what was redacted', async () => {
  await setKeyGuardrail(server, filterWith('redact'))
  const repeated = {
    user: secret,
    metadata: { note: secret },
    prompt_cache_key: secret,
    text: { format: { type: 'json_schema', name: 'r', schema: { type: 'object', description: secret } } },
  }
  const response = await post('/responses', { model: 'sandbox/echo', input: 'Hello', ...repeated })
  const text = await response.text()
  expect(text).not.toContain(secret)
  expect(JSON.parse(text)).toMatchObject({ user: '[CANARY]', metadata: { note: '[CANARY]' } })
})

const requests = [
  ['/chat/completions', { model: 'sandbox/echo', messages: [{ role: 'user', content: secret }] }],
  ['/embeddings', { model: 'sandbox/embedder', input: secret }],
] as const

test.each(requests)(
  'R35 a request that a filter blocks is logged with redacted labels: %s',
  async (path, body) => {
    await setKeyGuardrail(server, filterWith('block'))
    expect(await rejectedLabels(path, body)).toEqual([
      {
        app_title: 'App of [CANARY]',
        app_url: 'https://example.com/[CANARY]',
        session_id: 'session [CANARY]',
        external_user: '[CANARY]',
      },
    ])
  },
)

test.each(requests)(
  'R35 a request rejected before the filters saw it is logged without labels: %s',
  async (path, body) => {
    await setKeyGuardrail(server, { ...filterWith('redact'), allowed_data_regions: ['europe'] })
    expect(await rejectedLabels(path, body)).toEqual([
      { app_title: null, app_url: null, session_id: null, external_user: null },
    ])
  },
)

async function rejectedLabels(path: string, body: object): Promise<object[]> {
  const response = await post(path, { ...body, ...labeled }, { ...headers, 'x-openwebui-user-id': secret })
  expect(response.status).toBe(403)
  const { db, requestLog } = server.gateway
  await requestLog.rejected.flush(true)
  return db
    .selectFrom('refused_requests')
    .select(['app_title', 'app_url', 'session_id', 'external_user'])
    .where('id', '=', response.headers.get('x-generation-id') ?? '')
    .execute()
}
