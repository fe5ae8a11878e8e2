import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { authenticate } from '../../src/access/authenticate.ts'
import type { ToolCallPart } from '../../src/formats/call/part.ts'
import type { DataRegion } from '../../src/formats/vocabulary.ts'
import { formats } from '../../src/inference/request/formats.ts'
import type { InferenceRequest } from '../../src/inference/request/inference-request.ts'
import { parseRequest } from '../../src/inference/request/parse.ts'
import { guardRequest } from '../../src/inference/stages/guard.ts'
import { prepareTools } from '../../src/inference/tool-loop/prepare.ts'
import type { ToolRun } from '../../src/inference/tools/tool.ts'
import { GatewayError } from '../../src/platform/errors/gateway-error.ts'
import type { JsonObject } from '../../src/platform/json/json-values.ts'
import { describeOnSqlite, type TestServer } from '../support/harness.ts'

const canary = 'canary-5ecret-engine-key-01234567'
const searches: Record<string, unknown>[] = []
const found = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    url: `https://site.test/${index}`,
    title: `Title ${index}`,
    text: `Text ${index}`,
    publishedDate: '2026-05-04',
  }))
let respond: (path: string) => Response = () => new Response(null, { status: 404 })

/** A search engine, and a site with pages. */
const site = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: async (request) => {
    const { pathname } = new URL(request.url)
    if (request.method === 'POST') searches.push((await request.json()) as Record<string, unknown>)
    return respond(pathname)
  },
})
const origin = `http://127.0.0.1:${site.port}`
afterAll(() => site.stop(true))

const settings = `
egress: { allow_private: ["127.0.0.1:${site.port}"] }
web:
  engines: { exa: { api_key: ${canary}, base_url: "${origin}" } }
providers:
  - { slug: plain, name: Plain, base_url: "http://127.0.0.1:1", dialects: [chat], api_key: secret }
models:
  - { id: test/plain, name: Plain, endpoints: [{ provider: plain, upstream_model: any }] }
  - { id: test/claude, name: Claude, endpoints: [{ provider: anthropic, upstream_model: any }] }
  - { id: test/gpt, name: GPT, endpoints: [{ provider: openai, upstream_model: any }] }
  - { id: test/gemini, name: Gemini, endpoints: [{ provider: google-ai-studio, upstream_model: any }] }
  - { id: test/grok, name: Grok, endpoints: [{ provider: xai, upstream_model: any }] }
  - { id: test/mixed, name: Mixed, endpoints: [{ provider: openai, upstream_model: any }, { provider: plain, upstream_model: any }] }
`

interface Sent {
  format?: 'chat' | 'messages' | 'responses'
  model?: string
  region?: DataRegion
  tools: JsonObject[]
  toolChoice?: unknown
}

async function prepare(
  { gateway, own, url }: TestServer,
  { format = 'chat', model = 'test/plain', region = 'global', tools, toolChoice }: Sent,
): Promise<InferenceRequest> {
  const httpRequest = new Request(`${url}/`, { headers: { authorization: `Bearer ${own.inferenceKey}` } })
  const prompt =
    format === 'responses' ? { input: 'Hello' } : { messages: [{ role: 'user', content: 'Hello' }] }
  const body = {
    model,
    max_tokens: 10,
    ...prompt,
    tools,
    ...(toolChoice !== undefined && { tool_choice: toolChoice }),
  }
  const parsed = await parseRequest(gateway, {
    caller: await authenticate(gateway, httpRequest),
    region,
    httpRequest,
    body,
    source: { text: JSON.stringify(body), body, values: 10 },
    format: formats[format],
  })
  const request = await guardRequest(gateway, parsed)
  await prepareTools(gateway, request)
  return request
}

function findFunction(request: InferenceRequest, name: string) {
  const prepared = request.work?.tools?.functions.get(name)
  if (!prepared || !request.work?.tools) throw new Error(`no function ${name}`)
  return { ...prepared, request: request.work.tools.request }
}

/** Runs a call, and collects what it reserves. */
async function run(request: InferenceRequest, name: string, input: JsonObject) {
  const { instance, request: toolRequest } = findFunction(request, name)
  const reserved: bigint[] = []
  const call: ToolCallPart = { kind: 'tool-call', id: 'call_1', name, arguments: JSON.stringify(input) }
  const toolRun: ToolRun = {
    ...toolRequest,
    input,
    span: null,
    signal: new AbortController().signal,
    conversation: [],
    reserve: async (nanos) => void reserved.push(nanos),
    callModel: () => Promise.reject(new Error('none')),
    generateImage: () => Promise.reject(new Error('none')),
    progress: () => undefined,
  }
  const outcome = await instance.run?.(call, toolRun)
  if (!outcome) throw new Error('the tool does not run')
  expect(JSON.stringify([outcome.content, outcome.item, outcome.block])).not.toContain(canary)
  const [first] = outcome.content
  return {
    ...outcome,
    reserved,
    text: first?.kind === 'text' ? first.text : '',
    described: instance.describe(call),
  }
}

async function errorOf(preparing: Promise<unknown>): Promise<[number, string]> {
  try {
    await preparing
    return [200, '']
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return [error.row.status, error.message]
  }
}

describeOnSqlite(
  'web tools',
  (server) => {
    beforeEach(() => {
      searches.length = 0
      respond = () => Response.json({ results: found(2) })
    })
    const searchTool = (parameters: JsonObject = {}) => ({ type: 'service:web_search', parameters })
    const fetchTool = (parameters: JsonObject = {}) => ({ type: 'service:web_fetch', parameters })

    describe('service:web_search', () => {
      test('searches with the default engine', async () => {
        const request = await prepare(server(), {
          tools: [searchTool({ max_results: 2, search_context_size: 'high' })],
        })
        expect(request.content.call.tools).toMatchObject([{ kind: 'function', name: 'web_search' }])
        const outcome = await run(request, 'web_search', { query: 'tides' })
        expect(searches).toMatchObject([
          { query: 'tides', numResults: 2, contents: { text: { maxCharacters: 30_000 } } },
        ])
        expect(outcome.text).toContain(
          '[1] Title 0\nURL: https://site.test/0\nPublished: 2026-05-04\n\nText 0',
        )
        const sources = [0, 1].map((index) => ({ type: 'url', url: `https://site.test/${index}` }))
        expect(outcome.described.item).toMatchObject({
          type: 'service:web_search',
          action: { query: 'tides' },
        })
        expect(outcome.item).toEqual({
          type: 'service:web_search',
          action: { type: 'search', query: 'tides', sources },
        })
        expect(outcome.block).toMatchObject({
          type: 'web_search_tool_result',
          content: [{ type: 'web_search_result', url: 'https://site.test/0' }, {}],
        })
        expect(outcome.citations).toMatchObject([{ url: 'https://site.test/0', title: 'Title 0' }, {}])
        expect(outcome.fees).toEqual([{ name: 'exa', quantity: 2, nanos: 7_000_000n }])
        expect([outcome.reserved, outcome.webSearches]).toEqual([[7_000_000n], 1])
      })

      test('max_uses and max_total_results end the searches', async () => {
        const twice = await prepare(server(), { tools: [searchTool({ max_uses: 2 })] })
        const outcomes = [1, 2, 3].map(() => run(twice, 'web_search', { query: 'x' }))
        expect((await Promise.all(outcomes)).map(({ isError }) => isError)).toEqual([
          undefined,
          undefined,
          true,
        ])
        respond = () => Response.json({ results: found(25) })
        const total = await prepare(server(), { tools: [searchTool({ max_results: 25 })] })
        const counts: number[] = []
        for (let index = 0; index < 3; index++)
          counts.push((await run(total, 'web_search', { query: 'x' })).citations?.length ?? 0)
        expect(counts).toEqual([25, 25, 0])
        expect(searches).toHaveLength(4)
      })

      test('a failure is told to the model and costs nothing', async () => {
        respond = () => new Response(canary, { status: 500 })
        const request = await prepare(server(), { tools: [searchTool()] })
        const outcome = await run(request, 'web_search', { query: 'x' })
        expect(outcome).toMatchObject({ isError: true, text: 'The search engine failed.' })
        expect(outcome.fees).toBeUndefined()
        expect((await run(request, 'web_search', {})).text).toBe('The argument query must be a text.')
      })

      test.each([
        [{ engine: 'altavista' }, 400, 'tools[0].parameters.engine: must be one of auto, native, exa'],
        [{ engine: 'parallel' }, 400, 'tools[0].parameters.engine: the engine parallel has no key'],
        [{ engine: 'native' }, 400, 'tools[0].parameters.engine: not every provider'],
        [{ max_results: 26 }, 400, 'tools[0].parameters.max_results'],
        [
          { allowed_domains: ['a.test'], excluded_domains: ['b.test'] },
          400,
          'tools[0].parameters.excluded_domains',
        ],
        [{ allowed_domains: ['a b'] }, 400, 'tools[0].parameters.allowed_domains.0'],
        [{ typo: true }, 400, 'tools[0].parameters'],
      ])('%o: %d naming the field', async (parameters, status, message) => {
        const [received, text] = await errorOf(prepare(server(), { tools: [searchTool(parameters)] }))
        expect([received, text.startsWith(message) ? message : text]).toEqual([status, message])
      })

      test('a mode of another engine and x_search are named', async () => {
        const request = await prepare(server(), { tools: [searchTool({ mode: 'turbo', x_search: {} })] })
        await run(request, 'web_search', { query: 'x' })
        expect(searches).toMatchObject([{ type: 'auto' }])
        expect(request.work?.dropped).toEqual(['tools[0].parameters.mode', 'tools[0].parameters.x_search'])
        const named = searchTool({ engine: 'exa', mode: 'turbo' })
        expect(await errorOf(prepare(server(), { tools: [named] }))).toEqual([
          400,
          'tools[0].parameters.mode: the engine exa has no mode "turbo"; parallel has it',
        ])
      })

      test('settings that only the gateway has are named where a provider runs its own tool', async () => {
        const tools = [{ type: 'web_search', mode: 'deep', max_results: 3 }]
        const request = await prepare(server(), { format: 'responses', model: 'test/gpt', tools })
        expect(request.content.call.tools).toMatchObject([
          { type: 'web_search', value: { type: 'web_search' } },
        ])
        expect(request.work?.dropped).toEqual(['tools[0].mode', 'tools[0].max_results'])
      })

      test.each([
        [
          'test/claude',
          'messages',
          { type: 'web_search_20250305', name: 'web_search', max_uses: 3, allowed_domains: ['a.test'] },
        ],
        ['test/gpt', 'responses', { type: 'web_search', filters: { allowed_domains: ['a.test'] } }],
        ['test/grok', 'responses', { type: 'web_search', filters: { allowed_domains: ['a.test'] } }],
      ])('%s searches itself', async (model, wireFormat, value) => {
        const tools = [searchTool({ max_uses: 3, allowed_domains: ['a.test'] })]
        for (const region of ['global', 'europe'] as const) {
          const request = await prepare(server(), { model, tools, region })
          expect(request.content.call.tools).toEqual([
            { kind: 'native', wireFormat, type: value.type, value } as never,
          ])
          expect(request.work?.tools).toBeNull()
        }
      })

      test('domains that a provider cannot restrict are left to an engine, or are 400 for native', async () => {
        const restricted = (model: string, parameters: JsonObject) =>
          prepare(server(), { model, tools: [searchTool(parameters)] })
        const plain = await restricted('test/gemini', {})
        expect(plain.content.call.tools).toMatchObject([
          { type: 'googleSearch', value: { googleSearch: {} } },
        ])
        const engine = await restricted('test/gemini', { allowed_domains: ['a.test'] })
        expect(engine.content.call.tools).toMatchObject([{ kind: 'function', name: 'web_search' }])
        const native = { engine: 'native', excluded_domains: ['a.test'] }
        for (const model of ['test/gemini', 'test/gpt'])
          expect((await errorOf(restricted(model, native)))[1]).toStartWith(
            'tools[0].parameters.excluded_domains',
          )
        const six = { engine: 'native', allowed_domains: Array(6).fill('a.test') }
        expect((await errorOf(restricted('test/grok', six)))[0]).toBe(400)
      })

      test('where not every provider searches, the gateway does', async () => {
        const request = await prepare(server(), { model: 'test/mixed', tools: [searchTool()] })
        expect(request.content.call.tools).toMatchObject([{ kind: 'function', name: 'web_search' }])
      })

      test('regional hosts and workspaces can refuse it', async () => {
        expect((await errorOf(prepare(server(), { region: 'europe', tools: [searchTool()] })))[0]).toBe(403)
        const { own } = server()
        const forbid = (types: string[]) =>
          server().call('PATCH', `/workspaces/${own.workspace.id}`, {
            body: { disabled_server_tools: types },
          })
        await forbid(['service:web_search'])
        expect((await errorOf(prepare(server(), { tools: [searchTool()] })))[0]).toBe(403)
        await forbid([])
      })
    })

    describe("the vendors' spellings", () => {
      test.each([
        ['chat', { type: 'web_search', max_results: 3 }],
        ['responses', { type: 'web_search', search_context_size: 'low' }],
        ['responses', { type: 'web_search_preview', user_location: { type: 'approximate', country: 'DE' } }],
        ['responses', { type: 'web_search_preview_2025_03_11' }],
        ['responses', { type: 'web_search_2025_08_26', filters: { allowed_domains: ['site.test'] } }],
        [
          'messages',
          { type: 'web_search_20250305', name: 'web_search', max_uses: 2, blocked_domains: ['x.test'] },
        ],
      ] as const)('the gateway runs %s %o for a provider that cannot', async (format, tool) => {
        const request = await prepare(server(), { format, tools: [tool] })
        expect(request.content.call.tools).toMatchObject([{ kind: 'function', name: 'web_search' }])
        const outcome = await run(request, 'web_search', { query: 'x' })
        expect(outcome.citations).toHaveLength(2)
        expect(outcome.item.type).toBe('web_search_call')
      })

      test.each([
        ['responses', 'test/gpt', { type: 'web_search_preview' }],
        ['messages', 'test/claude', { type: 'web_search_20250305', name: 'web_search', max_uses: 2 }],
        ['messages', 'test/claude', { type: 'web_fetch_20250910', name: 'web_fetch' }],
      ] as const)('%s: a provider that runs it gets it unchanged: %s', async (format, model, tool) => {
        const request = await prepare(server(), { format, model, tools: [tool] })
        expect(request.content.verbatim).not.toBeNull()
        expect(request.content.call.tools).toMatchObject([{ kind: 'native', value: tool }])
      })

      test('fields that only the gateway knows are not sent, and an engine is', async () => {
        const tool = { type: 'web_search', max_results: 3, engine: 'auto' }
        const native = await prepare(server(), { format: 'responses', model: 'test/gpt', tools: [tool] })
        expect(native.content.call.tools).toMatchObject([{ value: { type: 'web_search' } }])
        expect(native.content.call.tools?.[0]).not.toHaveProperty('value.engine')
        const named = { ...tool, engine: 'exa' }
        const own = await prepare(server(), { format: 'responses', model: 'test/gpt', tools: [named] })
        await run(own, 'web_search', { query: 'x' })
        expect(searches).toMatchObject([{ numResults: 3 }])
      })

      test('a tool of one vendor becomes that of another that searches itself', async () => {
        const tools = [{ type: 'web_search_20250305', name: 'web_search', allowed_domains: ['a.test'] }]
        const request = await prepare(server(), { format: 'messages', model: 'test/gpt', tools })
        expect(request.content.call.tools).toMatchObject([
          {
            wireFormat: 'responses',
            value: { type: 'web_search', filters: { allowed_domains: ['a.test'] } },
          },
        ])
      })

      test('a choice of the tool is one of its function', async () => {
        const toolChoice = { type: 'web_search_preview' }
        const tools = [{ type: 'web_search_preview' }]
        const request = await prepare(server(), { format: 'responses', tools, toolChoice })
        expect(request.content.call.toolChoice).toEqual({ kind: 'tool', name: 'web_search' })
      })

      test('the page of web_fetch is read by the gateway', async () => {
        respond = () => new Response('Page text', { headers: { 'content-type': 'text/plain' } })
        const tools = [{ type: 'web_fetch_20250910', name: 'web_fetch', max_content_tokens: 100 }]
        const request = await prepare(server(), { format: 'messages', tools })
        expect((await run(request, 'web_fetch', { url: `${origin}/page` })).text).toContain('Page text')
      })
    })

    describe('service:web_fetch', () => {
      beforeEach(() => {
        respond = (path) =>
          path === '/page'
            ? new Response('<html><title>A page</title><body><p>Its text.</p></body></html>', {
                headers: { 'content-type': 'text/html' },
              })
            : new Response(null, { status: 404 })
      })
      const url = `${origin}/page`

      test('reads a page, for nothing', async () => {
        const request = await prepare(server(), { tools: [fetchTool()] })
        const outcome = await run(request, 'web_fetch', { url })
        expect(outcome.text).toBe(`URL: ${url}\nTitle: A page\n\nIts text.`)
        expect(outcome.item).toEqual({
          type: 'service:web_fetch',
          url,
          title: 'A page',
          content: 'Its text.',
          httpStatus: 200,
        })
        expect(outcome.block).toMatchObject({
          type: 'web_fetch_tool_result',
          content: { type: 'web_fetch_result', url, content: { source: { data: 'Its text.' } } },
        })
        expect(outcome.reserved).toEqual([])
        expect(outcome.fees).toEqual([{ name: 'service', quantity: 1, nanos: 0n }])
      })

      test.each([
        [`${origin}/missing`, {}, 'url_not_accessible', 'status 404'],
        ['http://169.254.169.254/latest', {}, 'url_not_allowed', 'public web'],
        ['file:///etc/passwd', {}, 'invalid_tool_input', 'http or https'],
        [url, { allowed_domains: ['example.com'] }, 'url_not_allowed', 'not allowed'],
        [url, { blocked_domains: ['127.0.0.1'] }, 'url_not_allowed', 'not allowed'],
      ])('S5 %s with %o: %s', async (target, parameters, code, message) => {
        const request = await prepare(server(), { tools: [fetchTool(parameters)] })
        const outcome = await run(request, 'web_fetch', { url: target })
        expect(outcome).toMatchObject({ isError: true, block: { content: { error_code: code } } })
        expect(outcome.text).toContain(message)
      })

      test('max_uses, and 50 pages of one request with all its entries', async () => {
        const few = await prepare(server(), { tools: [fetchTool({ max_uses: 1 })] })
        expect((await run(few, 'web_fetch', { url })).isError).toBeUndefined()
        expect(await run(few, 'web_fetch', { url })).toMatchObject({
          isError: true,
          block: { content: { error_code: 'max_uses_exceeded' } },
        })
        const tools = [fetchTool({ engine: 'sandbox' }), fetchTool({ engine: 'sandbox', max_uses: 100 })]
        const many = await prepare(server(), { tools })
        const names = ['web_fetch', 'web_fetch_2']
        let read = 0
        for (let index = 0; index < 60; index++) {
          const { isError } = await run(many, names[index % 2] ?? '', { url: 'https://site.test/' })
          if (!isError) read++
        }
        expect(read).toBe(50)
      })

      test('an engine reads it for its price', async () => {
        respond = () => Response.json({ results: [{ url, title: 'T', text: 'From the engine' }] })
        const request = await prepare(server(), { tools: [fetchTool({ engine: 'exa' })] })
        const outcome = await run(request, 'web_fetch', { url: 'https://site.test/page' })
        expect(outcome.text).toContain('From the engine')
        expect([outcome.reserved, outcome.fees]).toEqual([
          [1_000_000n],
          [{ name: 'exa', quantity: 1, nanos: 1_000_000n }],
        ])
      })

      test.each([
        [{ engine: 'searxng' }, 'tools[0].parameters.engine'],
        [{ engine: 'native' }, 'tools[0].parameters.engine'],
        [{ blocked_domains: ['a b'] }, 'tools[0].parameters.blocked_domains.0'],
      ])('%o: 400 naming the field', async (parameters, field) => {
        const [status, message] = await errorOf(prepare(server(), { tools: [fetchTool(parameters)] }))
        expect([status, message.slice(0, field.length)]).toEqual([400, field])
      })

      test('regional hosts refuse it', async () => {
        expect((await errorOf(prepare(server(), { region: 'europe', tools: [fetchTool()] })))[0]).toBe(403)
      })
    })
  },
  {
    settings,
    environment: { OPENAI_API_KEY: 'k1', ANTHROPIC_API_KEY: 'k2', GEMINI_API_KEY: 'k3', XAI_API_KEY: 'k4' },
  },
)
