import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { ByokKey } from '../../catalog/byok-keys.ts'
import { Vault } from '../../platform/crypto/crypto.ts'
import { findDefaultEngine, listAccesses } from './access.ts'
import { findSearchEngine } from './engines/all.ts'
import { prepareSearch, type SearchOptions } from './prepare.ts'
import { priceWorstCase, searchWeb } from './search.ts'
import { webSettings } from './settings.ts'

const names = {
  maxResults: 'max_results',
  includeDomains: 'include_domains',
  excludeDomains: 'exclude_domains',
  mode: 'mode',
  maxCharacters: 'max_characters',
  userLocation: 'user_location',
}
const vault = new Vault('0123456789abcdef0123456789abcdef')

function engineOf(id: string) {
  const engine = findSearchEngine(id)
  if (!engine) throw new Error(`no engine ${id}`)
  return engine
}

function byokKey(id: string, key: string, origin: string, more: Partial<ByokKey> = {}): ByokKey {
  return {
    id,
    provider: 'exa',
    encrypted: vault.encrypt(key, `byok/${id}`),
    origin,
    isFallback: false,
    isRequired: false,
    isByokOnly: false,
    declaredZdr: null,
    allowedModels: null,
    ...more,
  }
}

describe('the web search', () => {
  let server: ReturnType<typeof Bun.serve>
  let respond: (key: string | null, body: unknown) => Response | Promise<Response>
  const keys: (string | null)[] = []
  const result = (url: string, text = 'text') => ({ url, title: 'Title', text, publishedDate: '2026-01-02' })

  beforeAll(() => {
    server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        const key = request.headers.get('x-api-key')
        keys.push(key)
        return respond(key, request.method === 'POST' ? await request.json() : null)
      },
    })
  })
  afterEach(() => {
    keys.length = 0
  })
  afterAll(() => server.stop(true))

  const origin = () => `http://127.0.0.1:${server.port}`
  const contextOf = (more: Record<string, unknown> = {}, api_key: string | null = 'operator-key') => ({
    vault,
    audit: { secretUses: { add: () => undefined } },
    settings: {
      egress: { allow_private: [] },
      web: webSettings.parse({ engines: { exa: { api_key, base_url: origin() } }, ...more }),
    },
  })
  const search = async (
    options: SearchOptions = {},
    byokKeys: ByokKey[] = [],
    context = contextOf(),
    signal = new AbortController().signal,
  ) => {
    const engine = engineOf('exa')
    const accesses = listAccesses(context, engine, byokKeys, 'acme/model')
    return searchWeb(context, prepareSearch(engine, options, names), accesses, ' a\n query ', signal)
  }

  test('returns the results and their price', async () => {
    const bodies: unknown[] = []
    respond = (_, body) => {
      bodies.push(body)
      return Response.json({ results: [result('https://a.test/1'), result('https://a.test/2')] })
    }
    expect(await search({ maxResults: 2 })).toEqual({
      ok: true,
      nanos: 7_000_000n,
      results: [
        { url: 'https://a.test/1', title: 'Title', text: 'text', publishedAt: '2026-01-02' },
        { url: 'https://a.test/2', title: 'Title', text: 'text', publishedAt: '2026-01-02' },
      ],
    })
    expect(bodies).toMatchObject([{ query: 'a query', numResults: 2 }])
    expect(keys).toEqual(['operator-key'])
  })

  test('results beyond the tenth cost more, and none that was not asked for', async () => {
    respond = () =>
      Response.json({ results: Array.from({ length: 30 }, (_, i) => result(`https://a.test/${i}`)) })
    const found = await search({ maxResults: 12 })
    expect(found).toMatchObject({ ok: true, nanos: 9_000_000n })
    expect(found.ok && found.results).toHaveLength(12)
  })

  test('results obey the domain rules, are of the web, and are cut', async () => {
    const urls = [
      'https://a.test/1',
      'https://a.test/1#again',
      'https://a.test/1',
      'https://b.test/1',
      'https://www.a.test/private/x',
      'ftp://a.test/2',
      'javascript:alert(1)',
      'nonsense',
    ]
    respond = () => Response.json({ results: urls.map((url) => result(url, 'x'.repeat(200))) })
    const found = await search({
      maxResults: 8,
      maxCharacters: 100,
      includeDomains: ['a.test'],
      excludeDomains: ['a.test/private'],
    })
    expect(found.ok && found.results.map(({ url, text }) => [url, text.length])).toEqual([
      ['https://a.test/1', 100],
      ['https://a.test/1#again', 100],
    ])
  })

  test.each([
    [401, 'unauthorized'],
    [403, 'unauthorized'],
    [429, 'rate_limited'],
    [400, 'rejected'],
    [500, 'engine_error'],
    [302, 'engine_error'],
  ])('R40 status %d is %s, without what the engine said', async (status, code) => {
    respond = () => new Response('canary-5ecret', { status, headers: { location: origin() } })
    const failed = await search()
    expect(failed).toMatchObject({ ok: false, error: { code } })
    expect(JSON.stringify(failed)).not.toMatch(/canary|operator-key|127\.0\.0\.1/)
  })

  test.each(['not json', '[]', '{"results":[{"title":"without url"}]}'])(
    'a reply that cannot be read: %s',
    async (text) => {
      respond = () => new Response(text)
      expect(await search()).toMatchObject({ ok: false, error: { code: 'engine_error' } })
    },
  )

  test('S13 time and bytes are bounded, and a canceled request ends', async () => {
    respond = () => new Response('x'.repeat(2_000_000))
    expect(await search({ maxResults: 1, maxCharacters: 1 })).toMatchObject({
      error: { code: 'engine_error' },
    })
    respond = () => new Promise<Response>(() => undefined)
    expect(await search({}, [], contextOf({ timeout: 0.05 }))).toMatchObject({ error: { code: 'timeout' } })
    const gone = new AbortController()
    respond = () => {
      gone.abort()
      return new Promise<Response>(() => undefined)
    }
    expect(await search({}, [], contextOf(), gone.signal)).toMatchObject({ error: { code: 'canceled' } })
  })

  test('S5 without an address of the operator, the engine must be at a public one', async () => {
    const context = {
      ...contextOf(),
      settings: {
        egress: { allow_private: [] },
        web: webSettings.parse({ engines: { exa: { api_key: 'k' } } }),
      },
      resolve: async () => ['127.0.0.1'],
    }
    expect(await search({}, [], context)).toMatchObject({ error: { code: 'unreachable' } })
  })

  describe('with BYOK keys', () => {
    beforeAll(() => {
      respond = (key) =>
        key?.startsWith('bad') ? new Response(null, { status: 401 }) : Response.json({ results: [] })
    })

    test('an own key is tried first and costs nothing', async () => {
      respond = () => Response.json({ results: [] })
      expect(await search({}, [byokKey('1', 'own-key', origin())])).toMatchObject({ ok: true, nanos: 0n })
      expect(keys).toEqual(['own-key'])
    })

    test('the next key is tried when one is rejected', async () => {
      respond = (key) =>
        key?.startsWith('bad') ? new Response(null, { status: 401 }) : Response.json({ results: [] })
      const own = byokKey('1', 'bad-key', origin())
      expect(await search({}, [own])).toMatchObject({ ok: true, nanos: 7_000_000n })
      expect(keys).toEqual(['bad-key', 'operator-key'])
    })

    test('a fallback key comes last, and a required one excludes the key of the operator', () => {
      const list = (more: Partial<ByokKey>) =>
        listAccesses(contextOf(), engineOf('exa'), [byokKey('1', 'own', origin(), more)], 'acme/model').map(
          ({ key }) => key,
        )
      expect(list({ isFallback: true })).toEqual(['operator-key', 'own'])
      expect(list({ isRequired: true })).toEqual(['own'])
      expect(list({ isByokOnly: true })).toEqual(['own'])
      expect(list({ allowedModels: ['acme/other'] })).toEqual(['operator-key'])
      expect(list({ allowedModels: ['acme/other'], isByokOnly: true })).toEqual([])
      expect(list({ origin: 'https://api.exa.ai' })).toEqual(['operator-key'])
      expect(list({ provider: 'groq' })).toEqual(['operator-key'])
    })

    test('the most it may cost is nothing with own keys alone', () => {
      const context = contextOf()
      const prepared = prepareSearch(engineOf('exa'), { maxResults: 25 }, names)
      const own = [byokKey('1', 'own', origin(), { isRequired: true })]
      const accesses = (keys: ByokKey[]) => listAccesses(context, engineOf('exa'), keys, null)
      expect(priceWorstCase(context.settings.web, prepared, accesses(own))).toBe(0n)
      expect(priceWorstCase(context.settings.web, prepared, accesses([]))).toBe(22_000_000n)
    })
  })

  describe('the default engine', () => {
    const nothing = () => contextOf({ engines: {} })
    test('is the one that the operator names, else the first one that can be used', () => {
      expect(findDefaultEngine(contextOf({ engine: 'searxng' }), [], null)?.id).toBe('searxng')
      expect(findDefaultEngine(contextOf(), [], null)?.id).toBe('exa')
      expect(findDefaultEngine(nothing(), [], null)).toBeUndefined()
      const own = byokKey('1', 'k', 'https://api.firecrawl.dev', { provider: 'firecrawl' })
      expect(findDefaultEngine(nothing(), [own], null)?.id).toBe('firecrawl')
      const engines = { searxng: { base_url: 'http://127.0.0.1:8888' } }
      expect(findDefaultEngine(contextOf({ engines }), [], null)?.id).toBe('searxng')
    })

    test('the simulated one needs no key, and is never chosen by itself', async () => {
      const prepared = prepareSearch(engineOf('sandbox'), { maxResults: 7 }, names)
      const found = await searchWeb(nothing(), prepared, [], 'Tides?', new AbortController().signal)
      expect(found).toMatchObject({ ok: true, nanos: 0n })
      expect(found.ok && found.results.map(({ url }) => url)).toEqual([
        'https://search.sandbox.example/tides/overview',
        'https://search.sandbox.example/tides/news',
        'https://search.sandbox.example/tides/guide',
        'https://search.sandbox.example/tides/reference',
        'https://search.sandbox.example/tides/history',
        'https://search.sandbox.example/tides/overview/2',
        'https://search.sandbox.example/tides/news/2',
      ])
    })
  })
})
