import { beforeEach, expect, test } from 'bun:test'
import { serverToolTypes } from '../../src/inference/tools/all.ts'
import { replyWithCalls } from '../tools/replies.ts'
import {
  clearGenerations,
  describeWithUpstreams,
  type FormatName,
  formatNames,
  readJson,
  sendRequest,
  waitForGenerations,
} from './two-upstreams.ts'

/** The first upstream is anywhere, the second in Europe. */
const settings = (first: string, second: string) => `
regions: { hosts: { "eu.example.com": europe, "us.example.com": us } }
providers:
  - { slug: anywhere, name: Anywhere, base_url: "${first}", dialects: [chat], api_key: vendor-secret }
  - { slug: europe, name: Europe, base_url: "${second}", dialects: [chat], api_key: vendor-secret, regions: [europe] }
models:
  - id: test/both
    name: Both
    endpoints:
      - { provider: anywhere, upstream_model: vendor-model, pricing: { prompt: "0.000001", completion: "0.000001" } }
      - { provider: europe, upstream_model: vendor-model, pricing: { prompt: "0.000009", completion: "0.000009" } }
  - id: test/anywhere
    name: Anywhere
    endpoints:
      - { provider: anywhere, upstream_model: vendor-model, pricing: { prompt: "0.000001", completion: "0.000001" } }
`

/** Requests that would leave the region, and the field that the error names. */
const leaving: [FormatName, Record<string, unknown>, string][] = [
  ['chat', useTool('web_fetch'), 'tools[0].type'],
  ['chat', useTool('files'), 'tools[0].type'],
  ['chat', useTool('fusion'), 'tools[0].type'],
  ['chat', useTool('image_generation'), 'tools[0].type'],
  ['chat', useTool('web_search'), 'tools[0].parameters.engine'],
  ['chat', useTool('web_search', { engine: 'sandbox' }), 'tools[0].parameters.engine'],
  ['responses', useTool('mcp', { server_label: 'a', server_url: 'http://127.0.0.1:1/' }), 'tools[0].type'],
  ['messages', { mcp_servers: [{ type: 'url', name: 'a', url: 'http://127.0.0.1:1/' }] }, 'mcp_servers[0]'],
  ['responses', useTool('shell'), 'tools[0].type'],
  ['messages', useTool('bash', { engine: 'service' }), 'tools[0].type'],
  ['chat', { plugins: [{ id: 'web' }] }, 'plugins.web.engine'],
  ['chat', { model: 'test/both:online' }, 'plugins.web.engine'],
  ['chat', { plugins: [{ id: 'web-fetch' }] }, 'plugins.web-fetch'],
  [
    'chat',
    { plugins: [{ id: 'file-parser' }], messages: attach('http://127.0.0.1:1/a.pdf') },
    'plugins.file-parser',
  ],
]

/** Tools that stay with the client or the gateway, or ask models of the region. */
const staying = [
  'advisor',
  'apply_patch',
  'datetime',
  'experimental__search_models',
  'subagent',
  'tool_search',
]

function useTool(name: string, parameters: object = {}) {
  return { tools: [{ type: `service:${name}`, parameters }] }
}

function attach(file_data: string) {
  return [{ role: 'user', content: [{ type: 'file', file: { filename: 'a.pdf', file_data } }] }]
}

const inEurope = { headers: { host: 'eu.example.com' } }

describeWithUpstreams(
  'regions',
  (bench) => {
    beforeEach(() => clearGenerations(bench()))
    const request = () => [bench().first.requests.length, bench().second.requests.length]

    test.each(formatNames)('a regional host uses only endpoints of its region: %s', async (format) => {
      expect((await sendRequest(bench(), format, { model: 'test/both' })).status).toBe(200)
      expect(request()).toEqual([1, 0])
      expect((await sendRequest(bench(), format, { model: 'test/both' }, inEurope)).status).toBe(200)
      expect(request()).toEqual([1, 1])
      const rows = await waitForGenerations(bench(), 2)
      expect(rows.map(({ region, endpoint }) => [region, endpoint])).toEqual([
        ['global', 'anywhere'],
        ['europe', 'europe'],
      ])
    })

    test.each(leaving)(
      'a regional host refuses what leaves its region: %s %j',
      async (format, body, field) => {
        const response = await sendRequest(bench(), format, { model: 'test/both', ...body }, inEurope)
        const { error } = await readJson(response)
        expect([response.status, error.message]).toEqual([403, expect.stringContaining(field)])
        expect(error.message).toMatch(/region/)
        expect(request()).toEqual([0, 0])
      },
    )

    test('every server tool leaves the region or stays in it', () => {
      const refused = leaving.flatMap(([, body]) => JSON.stringify(body).match(/service:\w+/g) ?? [])
      const known = [...refused, ...staying.map((name) => `service:${name}`)]
      expect([...new Set(known)].sort()).toEqual([...serverToolTypes])
    })

    test('a model that a tool asks is in the region too', async () => {
      bench().second.enqueue(replyWithCalls(['advisor'], false, null, { prompt: 'What now?' }))
      const body = { model: 'test/both', ...useTool('advisor', { model: 'test/both' }) }
      expect((await sendRequest(bench(), 'chat', body, inEurope)).status).toBe(200)
      expect(request()).toEqual([0, 3])
      bench().second.enqueue(
        replyWithCalls(['subagent'], false, null, { task_name: 'a', task_description: 'b' }),
      )
      const other = { model: 'test/both', ...useTool('subagent', { model: 'test/anywhere' }) }
      expect((await sendRequest(bench(), 'chat', other, inEurope)).status).toBe(200)
      expect(request()).toEqual([0, 5])
    })

    test('failover stays within the region', async () => {
      bench().second.setDefault({ status: 500, json: { error: { message: 'down' } } })
      const response = await sendRequest(bench(), 'chat', { model: 'test/both' }, inEurope)
      bench().second.setDefault(null)
      expect(response.status).toBe(502)
      expect(request()[0]).toBe(0)
    })

    test('a model without an endpoint in the region is rejected, and no provider is called', async () => {
      for (const host of ['eu.example.com', 'us.example.com', 'EU.Example.com:8080']) {
        const response = await sendRequest(bench(), 'chat', { model: 'test/anywhere' }, { headers: { host } })
        expect(response.status).toBe(503)
        const { error } = await readJson(response)
        expect(error.availability).toMatchObject({
          code: 'constraint_filtered',
          excluded_by: ['data_region'],
        })
      }
      expect(request()).toEqual([0, 0])
    })

    test('naming a provider, or a fallback model, does not open another region', async () => {
      const only = { model: 'test/both', provider: { only: ['anywhere'] } }
      expect((await sendRequest(bench(), 'chat', only, inEurope)).status).toBe(503)
      const models = { models: ['test/anywhere', 'test/both'] }
      expect((await sendRequest(bench(), 'chat', models, inEurope)).status).toBe(200)
      expect(request()).toEqual([0, 1])
    })

    test('a BYOK key is used in any region', async () => {
      const { server } = bench()
      const body = { provider: 'anywhere', key: 'own-secret-1234' }
      const made = await server.call('POST', '/byok', { body })
      expect(made.status).toBe(201)
      expect((await sendRequest(bench(), 'chat', { model: 'test/anywhere' }, inEurope)).status).toBe(200)
      expect(request()).toEqual([1, 0])
      await server.call('DELETE', `/byok/${made.body.data.id}`)
    })

    test('a guardrail that allows other regions only rejects the host', async () => {
      const { server } = bench()
      const workspace = await server.call('GET', `/workspaces/${server.own.workspace.id}`)
      const path = `/guardrails/${workspace.body.data.default_guardrail_id}`
      await server.call('PATCH', path, { body: { allowed_data_regions: ['europe'] } })
      for (const format of formatNames) {
        const rejected = await sendRequest(bench(), format, { model: 'test/both' })
        expect(rejected.status).toBe(403)
        expect((await sendRequest(bench(), format, { model: 'test/both' }, inEurope)).status).toBe(200)
      }
      expect(request()).toEqual([0, 3])
      await server.call('PATCH', path, { body: { allowed_data_regions: null } })
    })
  },
  settings,
)
