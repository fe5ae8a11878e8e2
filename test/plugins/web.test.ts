import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import {
  clearGenerations,
  describeWithUpstreamsOnSqlite,
  type FormatName,
  formatNames,
  lastRequest,
  readJson,
  sendRequest,
  waitForGenerations,
} from '../inference/two-upstreams.ts'

const canary = 'canary-5ecret-engine-key-01234567'
const searches: { key: string | null; body: Record<string, unknown> }[] = []
let respond: () => Response = () => Response.json({ results })
const results = [
  {
    url: 'https://tides.test/today',
    title: 'Tides today',
    text: 'High water at 14:05.',
    publishedDate: '2026-05-04',
  },
  { url: 'https://moon.test/phase', title: 'The moon', text: 'It is full.' },
]

/** The search engine, and a site with pages. */
const site = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: async (request) => {
    const { pathname } = new URL(request.url)
    if (pathname === '/page')
      return new Response('<html><title>A page</title><body><p>Text of the page.</p></body></html>', {
        headers: { 'content-type': 'text/html' },
      })
    if (pathname !== '/search') return new Response(null, { status: 404 })
    searches.push({
      key: request.headers.get('x-api-key'),
      body: (await request.json()) as Record<string, unknown>,
    })
    return respond()
  },
})
const origin = `http://127.0.0.1:${site.port}`
afterAll(() => site.stop(true))

const settings = `
egress: { allow_private: ["127.0.0.1:${site.port}"] }
regions: { hosts: { "eu.example.com": europe } }
web:
  engines: { exa: { api_key: ${canary}, base_url: "${origin}" } }
  fetch: { max_content_tokens: 100 }
`

/** Every source that a reply cites, in any format. */
function listCitedUrls(text: string): string[] {
  const urls = [...text.matchAll(/"url": ?"(https?:[^"]+)"/g)].map(([, url = '']) => url)
  return [...new Set(urls)]
}

describeWithUpstreamsOnSqlite(
  'the plugin web',
  (bench) => {
    beforeEach(async () => {
      await clearGenerations(bench())
      searches.length = 0
      respond = () => Response.json({ results })
    })
    const send = (format: FormatName, body: Record<string, unknown>, init = {}) =>
      sendRequest(bench(), format, { model: `test/${format}`, ...body }, init)
    const promptSent = () => JSON.stringify(lastRequest(bench().first.requests).json)

    describe.each(formatNames)('in the format %s', (format) => {
      test.each([false, true])(
        'the model gets the results, and the reply cites them (stream: %p)',
        async (stream) => {
          const response = await send(format, { stream, plugins: [{ id: 'web' }] })
          const text = await response.text()
          expect([response.status, text]).toEqual([200, expect.any(String)])
          expect(searches).toMatchObject([{ key: canary, body: { query: 'Hello', numResults: 5 } }])
          expect(promptSent()).toContain('High water at 14:05.')
          expect(promptSent()).toMatch(/A web search was made on \d{4}-\d{2}-\d{2}/)
          expect(promptSent()).not.toContain('"plugins"')
          expect(listCitedUrls(text)).toEqual(['https://tides.test/today', 'https://moon.test/phase'])
          expect(text).not.toContain(canary)
        },
      )

      test('its price is part of the charge', async () => {
        await (await send(format, {})).text()
        await (await send(format, { plugins: [{ id: 'web', max_results: 12, mode: 'deep' }] })).text()
        const [plain, searched] = (await waitForGenerations(bench(), 2)).sort((a, b) =>
          a.created_at < b.created_at ? -1 : 1,
        )
        expect(searches[0]?.body).toMatchObject({ type: 'deep', numResults: 12 })
        expect(searched && plain && searched.cost_nanos - plain.cost_nanos).toBe(12_000_000n)
        const { body } = await bench().server.call('GET', `/generation?id=${searched?.id}`)
        expect([body.data.web_search_engine, body.data.num_search_results]).toEqual(['exa', 2])
        const lines: { cost: number }[] = body.data.headgate.lines
        expect(lines.reduce((sum, { cost }) => sum + cost, 0)).toBeCloseTo(body.data.usage, 9)
      })
    })

    test('the suffix :online is the same, and can be switched off', async () => {
      expect((await send('chat', { model: 'test/chat:online' })).status).toBe(200)
      expect(searches).toHaveLength(1)
      const off = { model: 'test/chat:online', plugins: [{ id: 'web', enabled: false }] }
      expect((await send('chat', off)).status).toBe(200)
      expect(searches).toHaveLength(1)
    })

    test('search_prompt replaces the instruction, and domains restrict the search', async () => {
      const plugin = {
        id: 'web',
        search_prompt: 'Sources:',
        include_domains: ['tides.test'],
        exclude_domains: ['x.test'],
      }
      const response = await send('chat', { plugins: [plugin] })
      expect(searches[0]?.body).toMatchObject({ includeDomains: ['tides.test'], excludeDomains: ['x.test'] })
      expect(promptSent()).toContain('Sources:')
      expect(promptSent()).not.toContain('A web search was made')
      expect(listCitedUrls(await response.text())).toEqual(['https://tides.test/today'])
    })

    test('service_metadata has the stage and its price', async () => {
      const headers = { 'x-service-metadata': 'enabled' }
      const body = await readJson(send('chat', { plugins: [{ id: 'web' }] }, { headers }))
      expect(body.service_metadata.pipeline).toMatchObject([
        { type: 'plugin', name: 'web-search', cost_usd: 0.007 },
      ])
    })

    test('options without effect are named', async () => {
      const plugin = { id: 'web', x_search: {}, engine: 'sandbox', user_location: { country: 'DE' } }
      const response = await send('chat', { plugins: [plugin] })
      expect(response.headers.get('x-headgate-dropped')).toBe(
        'plugins.web.user_location, plugins.web.x_search',
      )
      expect(promptSent()).toContain('simulated search for')
    })

    test.each([
      [{ engine: 'altavista' }, 400, 'plugins.web.engine: must be one of auto, native, exa'],
      [{ engine: 'parallel' }, 400, 'plugins.web.engine: the engine parallel has no key'],
      [{ engine: 'native' }, 400, 'plugins.web.engine: not every provider'],
      [{ max_results: 26 }, 400, 'plugins.web.max_results: must be an integer from 1 to 25'],
      [{ include_domains: ['https://x.test'] }, 400, 'plugins.web.include_domains.0: must be a domain'],
      [{ engine: 'exa', typo: 1 }, 400, 'plugins'],
      [
        { engine: 'exa', mode: 'turbo' },
        400,
        'plugins.web.mode: the engine exa has no mode "turbo"; parallel has',
      ],
      [
        { engine: 'sandbox', mode: 'fast' },
        400,
        'plugins.web.mode: the engine sandbox has no mode "fast"; exa, pa',
      ],
      [
        { engine: 'native', mode: 'deep' },
        400,
        'plugins.web.mode: the search of the provider has no mode "deep"',
      ],
      [{ max_uses: 0, engine: 'altavista' }, 400, 'plugins.web.engine: must be one of auto, native, exa'],
      [{ max_uses: 0, engine: 'exa', mode: 'turbo' }, 400, 'plugins.web.mode: the engine exa has no mode'],
      [{ max_uses: 0, include_domains: ['https://x.test'] }, 400, 'plugins.web.include_domains.0: must be'],
      [{ max_uses: 0, engine: 'perplexity', max_results: 25 }, 400, 'plugins.web.max_results: must be'],
    ])('%o: %d %s', async (plugin, status, message) => {
      const response = await send('chat', { plugins: [{ id: 'web', ...plugin }] })
      expect(response.status).toBe(status)
      expect((await readJson(response)).error.message).toStartWith(message)
      expect([searches.length, bench().first.requests.length]).toEqual([0, 0])
    })

    test('a mode that the default engine does not have is named', async () => {
      const response = await send('chat', { plugins: [{ id: 'web', mode: 'turbo' }] })
      await response.text()
      expect([response.status, response.headers.get('x-headgate-dropped')]).toEqual([200, 'plugins.web.mode'])
      expect(searches).toHaveLength(1)
    })

    test('R40 a search that fails is 502 without the key, and nothing is charged', async () => {
      respond = () => new Response(`bad key ${canary}`, { status: 401 })
      for (const stream of [false, true]) {
        const response = await send('chat', { stream, plugins: [{ id: 'web' }] })
        expect(response.status).toBe(502)
        expect(await response.text()).not.toContain(canary)
      }
      expect(bench().first.requests).toHaveLength(0)
      await (await send('chat', {})).text()
      const [plain, ...others] = await waitForGenerations(bench(), 1)
      expect([plain?.status, others]).toEqual(['completed', []])
    })

    test('a quote includes the price of the search and makes none', async () => {
      const quote = async (plugins: object[]) => {
        const { data } = await readJson(
          fetch(`${bench().server.url}/v1/quote`, {
            method: 'POST',
            headers: {
              authorization: `Bearer ${bench().server.own.inferenceKey}`,
              'content-type': 'application/json',
            },
            body: JSON.stringify({
              ...{ model: 'test/chat', max_tokens: 5, plugins },
              messages: [{ role: 'user', content: 'Hello' }],
            }),
          }),
        )
        return { ...data.price, needed: data.limits[0].needed }
      }
      const off = await quote([{ id: 'web', max_uses: 0 }])
      const on = await quote([{ id: 'web', mode: 'deep', max_results: 12 }])
      expect(on.expected - off.expected).toBeCloseTo(0.014, 9)
      expect(on.worst_case - off.worst_case).toBeGreaterThanOrEqual(0.014)
      expect(on.needed).toBe(on.worst_case)
      expect(searches).toHaveLength(0)
    })

    test('a regional host sends no search outside its region', async () => {
      const response = await send(
        'chat',
        { plugins: [{ id: 'web' }] },
        { headers: { host: 'eu.example.com' } },
      )
      expect(response.status).toBe(403)
      expect(searches).toHaveLength(0)
    })

    test('a workspace can forbid it', async () => {
      const { server } = bench()
      const path = `/workspaces/${server.own.workspace.id}`
      await server.call('PATCH', path, {
        body: { disabled_server_tools: ['service:web_search', 'service:web_fetch'] },
      })
      expect((await send('chat', { plugins: [{ id: 'web' }] })).status).toBe(403)
      expect((await send('chat', { plugins: [{ id: 'web-fetch' }] })).status).toBe(403)
      await server.call('PATCH', path, { body: { disabled_server_tools: [] } })
    })

    describe('web-fetch', () => {
      const ask = (text: string, plugin: Record<string, unknown> = {}) =>
        send('chat', {
          messages: [{ role: 'user', content: text }],
          plugins: [{ id: 'web-fetch', ...plugin }],
        })

      test('adds the pages that the user names', async () => {
        const response = await ask(`Read ${origin}/page, ${origin}/missing and ${origin}/page.`)
        expect(response.status).toBe(200)
        expect(promptSent()).toContain('Text of the page.')
        expect(promptSent()).toContain('replied with status 404')
        expect(listCitedUrls(await response.text())).toEqual([`${origin}/page`])
        const [row] = await waitForGenerations(bench(), 1)
        const { data } = (await bench().server.call('GET', `/generation?id=${row?.id}`)).body
        expect([data.num_search_results, data.num_fetches]).toEqual([null, 1])
      })

      test('reads no page that the domains exclude, and none of a private network', async () => {
        await ask(`Read ${origin}/page`, { allowed_domains: ['example.com'] })
        expect(promptSent()).toContain('The domain is not allowed')
        await ask('Read http://169.254.169.254/latest/meta-data')
        expect(promptSent()).toContain('not one of the public web')
      })

      test('a long run of punctuation in a URL takes no time', async () => {
        const response = await ask(`Read http://a.test/${'!'.repeat(1_000_000)}x and ${origin}/page!!!`)
        expect(response.status).toBe(200)
        expect(promptSent()).toContain('must be an absolute http or https URL')
        expect(promptSent()).toContain('Text of the page.')
      })

      test('lists of domains are bounded', async () => {
        const response = await ask('Hello', { blocked_domains: Array(1001).fill('example.com') })
        expect(response.status).toBe(400)
        expect(await response.text()).toContain('blocked_domains')
      })

      test('without a URL nothing changes', async () => {
        await ask('Hello')
        expect(lastRequest(bench().first.requests).json.messages).toEqual([
          { role: 'user', content: 'Hello' },
        ])
      })
    })
  },
  settings,
)
