import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { buildResult } from '../../../../test/support/benchmarks.ts'
import { describeOnSqlite } from '../../../../test/support/harness.ts'
import { Benchmarks } from '../../../catalog/benchmarks/benchmarks.ts'
import { saveResults } from '../../../catalog/benchmarks/store.ts'

const settings = `
public_url: https://gateway.example
providers:
  - slug: local
    name: Local vLLM
    base_url: http://127.0.0.1:9001/v1
    dialects: [chat]
    regions: [europe]
    data_policy: { training: false, retains: false }
models:
  - id: acme/cheap-1
    name: Acme Cheap <1>
    description: Small & quick.
    created: 2026-01-01
    context_length: 8000
    tokenizer: Llama3
    input_modalities: [text, image]
    supported_parameters: [temperature, tools]
    categories: [legal]
    distillable: true
    aliases: [acme/small]
    endpoints:
      - { provider: local, upstream_model: cheap, pricing: { prompt: "0.000001", completion: "0.000002" } }
  - id: acme/dear-2
    name: Acme Dear 2
    created: 2026-06-01
    context_length: 64000
    knowledge_cutoff: 2026-03-31
    expiration_date: 2028-01-01
    reasoning: { mandatory: true, default_effort: max, supported_efforts: [max, high, low] }
    default_parameters: { temperature: 0.5, top_k: 40 }
    supported_parameters: [temperature, reasoning, verbosity]
    endpoints:
      - provider: local
        upstream_model: dear
        max_completion_tokens: 4096
        pricing: { prompt: "0.00003", completion: "0.00006", discount: 0.5 }
  - id: acme/unpriced-1
    name: Acme Unpriced
    endpoints: [{ provider: local, upstream_model: unpriced }]
  - id: acme/painter-1
    name: Acme Painter
    output_modalities: [image, text]
    endpoints: [{ provider: local, upstream_model: painter }]
`

describeOnSqlite(
  'Models',
  (server) => {
    const get = async (path: string) => (await server().call('GET', path)).body
    const ids = async (query: string): Promise<string[]> =>
      (await get(`/models?${query}`)).data.map((model: { id: string }) => model.id)
    const ours = async (query: string) => (await ids(query)).filter((id) => id.startsWith('acme/'))

    describe('GET /models', () => {
      test('the whole catalog of text models is one page unless a page is requested', async () => {
        const list = await get('/models')
        expect(list.total_count).toBe(list.data.length)
        expect(list).toMatchObject({
          object: 'list',
          has_more: false,
          first_id: 'acme/cheap-1',
          last_id: list.data.at(-1).id,
          links: { next: null },
        })
        expect(await get('/models/count')).toEqual({ data: { count: list.total_count } })
      })

      test('an inference key may read it, no key may not', async () => {
        const key = server().own.inferenceKey
        expect((await server().call('GET', '/models?limit=1', { key })).status).toBe(200)
        expect((await server().call('GET', '/models?limit=1', { key: null })).status).toBe(401)
      })

      test('an entry has what the clients of every vendor look for', async () => {
        const [model] = (await get('/models?q=dear&model_authors=acme')).data
        expect(model).toEqual({
          id: 'acme/dear-2',
          canonical_slug: 'acme/dear-2',
          name: 'Acme Dear 2',
          display_name: 'Acme Dear 2',
          description: '',
          object: 'model',
          type: 'model',
          created: Date.parse('2026-06-01') / 1000,
          created_at: '2026-06-01T00:00:00.000Z',
          owned_by: 'acme',
          context_length: 64_000,
          architecture: {
            modality: 'text->text',
            input_modalities: ['text'],
            output_modalities: ['text'],
            tokenizer: 'Other',
            instruct_type: null,
          },
          pricing: { prompt: '0.00003', completion: '0.00006', discount: 0.5 },
          top_provider: { context_length: 64_000, max_completion_tokens: 4096, is_moderated: false },
          per_request_limits: null,
          supported_parameters: ['temperature', 'reasoning', 'verbosity'],
          supported_voices: null,
          default_parameters: { temperature: 0.5, top_k: 40 },
          reasoning: { mandatory: true, default_effort: 'max', supported_efforts: ['max', 'high', 'low'] },
          knowledge_cutoff: '2026-03-31',
          expiration_date: '2028-01-01',
          model_hub_id: null,
          links: { details: '/api/v1/models/acme/dear-2/endpoints' },
        })
      })

      test('pages: offset and limit, and the link to the next page preserves the query', async () => {
        const first = await get('/models?limit=2&q=acme')
        expect(first).toMatchObject({ total_count: 4, has_more: true, last_id: 'acme/dear-2' })
        expect(first.links.next).toBe('/api/v1/models?limit=2&q=acme&offset=2')
        const second = await get(first.links.next.replace('/api/v1', ''))
        expect(second).toMatchObject({ has_more: false, first_id: 'acme/unpriced-1', links: { next: null } })
        expect(await get('/models?offset=100000')).toMatchObject({ data: [], first_id: null, last_id: null })
      })

      test('pages as the Messages SDK turns them: after_id', async () => {
        const page = await get('/models?limit=1&q=acme&after_id=acme/cheap-1')
        expect(page).toMatchObject({ first_id: 'acme/dear-2', has_more: true })
        expect((await server().call('GET', '/models?after_id=acme/nothing')).status).toBe(400)
      })

      test.each([
        ['q=QUICK%20small', ['acme/cheap-1']],
        ['input_modalities=image', ['acme/cheap-1']],
        ['supported_parameters=temperature,tools', ['acme/cheap-1']],
        ['category=legal', ['acme/cheap-1']],
        ['context=64000', ['acme/dear-2']],
        ['max_price=1', ['acme/cheap-1']],
        ['min_price=1.5', ['acme/dear-2']],
        ['min_price=15&max_price=15', ['acme/dear-2']],
        ['max_output_price=2', ['acme/cheap-1']],
        ['min_output_price=2.1', ['acme/dear-2']],
        ['arch=Llama3', ['acme/cheap-1']],
        ['distillable=true', ['acme/cheap-1']],
        ['output_modalities=image,speech', ['acme/painter-1']],
        ['zdr=true', ['acme/cheap-1', 'acme/dear-2', 'acme/unpriced-1', 'acme/painter-1']],
        ['region=eu', ['acme/cheap-1', 'acme/dear-2', 'acme/unpriced-1', 'acme/painter-1']],
        ['region=us', []],
        ['providers=local%20vllm', ['acme/cheap-1', 'acme/dear-2', 'acme/unpriced-1', 'acme/painter-1']],
        ['providers=openai', []],
        ['min_intelligence_index=1', []],
        ['max_coding_index=100', []],
        ['min_agentic_index=0', []],
        ['max_tool_success_rate=1', []],
      ])('filter %s', async (query, expected) => {
        expect(await ours(query)).toEqual(expected)
      })

      test('filter by age; a model of unknown age passes neither way', async () => {
        server().clock.freeze('2026-06-11T00:00:00Z')
        const young = await ours('max_age_days=10')
        const old = await ours('min_age_days=11')
        server().clock.release()
        expect([young, old]).toEqual([['acme/dear-2'], ['acme/cheap-1']])
      })

      test('filters by author and provider take several, and the neutral names of vendors', async () => {
        const authors = new Set(
          (await ids('include_unavailable=true&model_authors=acme,vendor_a')).map((id) => id.split('/')[0]),
        )
        expect([...authors]).toEqual(['acme', 'anthropic'])
        expect(await ids('include_unavailable=true&providers=vendor_a')).toContain(
          'anthropic/claude-sonnet-4.5',
        )
      })

      test('zdr=true leaves out models that every provider keeps', async () => {
        expect(await ids('include_unavailable=true&zdr=true')).not.toContain('openai/gpt-4o')
        expect(await ids('include_unavailable=true&zdr=false')).toContain('openai/gpt-4o')
      })

      test.each([
        ['newest', ['acme/dear-2', 'acme/cheap-1', 'acme/unpriced-1', 'acme/painter-1']],
        ['pricing-low-to-high', ['acme/cheap-1', 'acme/dear-2', 'acme/unpriced-1', 'acme/painter-1']],
        ['pricing-high-to-low', ['acme/dear-2', 'acme/cheap-1', 'acme/unpriced-1', 'acme/painter-1']],
        ['context-high-to-low', ['acme/dear-2', 'acme/cheap-1', 'acme/unpriced-1', 'acme/painter-1']],
        ['most-popular', ['acme/cheap-1', 'acme/dear-2', 'acme/unpriced-1', 'acme/painter-1']],
        ['latency-low-to-high', ['acme/cheap-1', 'acme/dear-2', 'acme/unpriced-1', 'acme/painter-1']],
      ])('sort=%s puts what is not known last', async (sort, expected) => {
        expect(await ours(`sort=${sort}`)).toEqual(expected)
      })

      describe('with benchmarks', () => {
        const arena = { source: 'design-arena', details: { win_rate: 55 } } as const
        beforeAll(async () => {
          const { db, benchmarks } = server().gateway
          await saveResults(db, [
            buildResult({ model: 'acme/cheap-1', benchmark: 'intelligence', score: 20 }),
            buildResult({ model: 'acme/dear-2', benchmark: 'intelligence', score: 60 }),
            buildResult({ model: 'acme/dear-2', benchmark: 'coding', score: 50.5 }),
            buildResult({ model: 'acme/unpriced-1', benchmark: 'agentic', score: 0 }),
            buildResult({ ...arena, model: 'acme/unpriced-1', benchmark: 'models/website', score: 1300 }),
            buildResult({ ...arena, model: 'acme/cheap-1', benchmark: 'models/website', score: 1200 }),
            buildResult({ ...arena, model: 'acme/cheap-1', benchmark: 'agents/webapps', score: 1900 }),
          ])
          await benchmarks.poll(db)
        })
        afterAll(() => {
          Object.assign(server().gateway.benchmarks, { current: new Benchmarks().current })
        })

        test.each([
          ['min_intelligence_index=20', ['acme/cheap-1', 'acme/dear-2']],
          ['min_intelligence_index=20.5', ['acme/dear-2']],
          ['max_intelligence_index=20', ['acme/cheap-1']],
          ['min_coding_index=50&max_coding_index=51', ['acme/dear-2']],
          ['min_agentic_index=0', ['acme/unpriced-1']],
          ['max_agentic_index=1', ['acme/unpriced-1']],
        ])('filter %s', async (query, expected) => {
          expect(await ours(query)).toEqual(expected)
        })

        test.each([
          ['intelligence-high-to-low', ['acme/dear-2', 'acme/cheap-1', 'acme/unpriced-1']],
          ['coding-high-to-low', ['acme/dear-2', 'acme/cheap-1', 'acme/unpriced-1']],
          ['agentic-high-to-low', ['acme/unpriced-1', 'acme/cheap-1', 'acme/dear-2']],
          ['design-arena-elo-high-to-low', ['acme/unpriced-1', 'acme/cheap-1', 'acme/dear-2']],
        ])('sort=%s', async (sort, expected) => {
          expect((await ours(`sort=${sort}`)).slice(0, 3)).toEqual(expected)
        })

        test('listings and single models show them; a model without has no such field', async () => {
          const expected = {
            artificial_analysis: { agentic_index: 0, coding_index: null, intelligence_index: null },
            design_arena: [{ arena: 'models', category: 'website', elo: 1300, rank: 1, win_rate: 55 }],
          }
          const { data } = await get('/models?q=unpriced')
          expect(data[0].benchmarks).toEqual(expected)
          expect((await get('/model/acme/unpriced-1')).data.benchmarks).toEqual(expected)
          expect((await get('/models/acme%2Funpriced-1')).benchmarks).toEqual(expected)
          expect((await get('/models?q=painter&output_modalities=all')).data[0]).not.toHaveProperty(
            'benchmarks',
          )
        })
      })

      test.each([
        'offset=-1',
        'limit=0',
        'limit=1001',
        'limit=x',
        'category=cooking',
        'supported_parameters=warmth',
        'output_modalities=smell',
        'input_modalities=text,smell',
        'sort=best',
        'context=0',
        'min_price=-1',
        'max_price=1e',
        'max_price=1e15',
        'offset=1000000000000000',
        'min_output_price=a',
        'max_output_price=',
        'arch=Unheard',
        'distillable=1',
        'zdr=yes',
        'region=asia',
        'min_age_days=1.5',
        'max_age_days=-1',
        'min_intelligence_index=a',
        'max_tool_success_rate=2',
        'use_rss=1',
      ])('400 naming the field: %s', async (query) => {
        const { status, body } = await server().call('GET', `/models?${query}`)
        expect(status).toBe(400)
        expect(body.error.message).toStartWith(`${query.split('=')[0]}: `)
      })

      test('numbers may have an exponent, as clients write very small ones', async () => {
        expect((await server().call('GET', '/models?min_price=1e-05&max_price=5E%2B2')).status).toBe(200)
      })

      test('R8 an unknown price is -1, not free', async () => {
        const [model] = (await get('/models?q=acme/unpriced')).data
        expect(model.pricing).toEqual({ prompt: '-1', completion: '-1' })
      })

      test('use_rss gives a feed whose text cannot break out of it', async () => {
        const { status, headers, body } = await server().call('GET', '/models?q=acme/cheap&use_rss=true')
        expect(status).toBe(200)
        expect(headers.get('content-type')).toStartWith('application/rss+xml')
        expect(body).toContain('<title>Acme Cheap &#60;1&#62;</title>')
        expect(body).toContain('<link>https://gateway.example/api/v1/model/acme/cheap-1</link>')
        expect(body).toContain('<pubDate>Thu, 01 Jan 2026 00:00:00 GMT</pubDate>')
      })

      test('client_version repeats the list in the form Codex reads', async () => {
        const list = await get('/models?q=acme/dear&client_version=0.166.0')
        expect(list.data).toHaveLength(1)
        expect(list.models).toEqual([
          {
            slug: 'acme/dear-2',
            display_name: 'Acme Dear 2',
            description: '',
            default_reasoning_level: null,
            supported_reasoning_levels: [
              { effort: 'high', description: 'high' },
              { effort: 'low', description: 'low' },
            ],
            shell_type: 'shell_command',
            visibility: 'list',
            supported_in_api: true,
            priority: 0,
            upgrade: null,
            base_instructions: '',
            supports_reasoning_summaries: true,
            support_verbosity: true,
            default_verbosity: null,
            apply_patch_tool_type: 'freeform',
            truncation_policy: { mode: 'tokens', limit: 10_000 },
            supports_parallel_tool_calls: false,
            context_window: 64_000,
            experimental_supported_tools: [],
            input_modalities: ['text'],
          },
        ])
      })
    })

    describe('GET /models/count', () => {
      test('counts by output; all is everything there is', async () => {
        const count = async (modalities: string) =>
          (await get(`/models/count?include_unavailable=true&output_modalities=${modalities}`)).data.count
        const { models, routers } = server().gateway.catalog
        const videos = models.filter(({ output_modalities }) => output_modalities.includes('video'))
        expect(await count('all')).toBe(models.length + routers.size)
        expect(await count('video')).toBe(videos.length)
        expect(await count('text')).toBe((await get('/models/count?include_unavailable=true')).data.count)
        expect((await server().call('GET', '/models/count?output_modalities=x')).status).toBe(400)
      })
    })

    describe('GET /models/user', () => {
      test('only models with a provider that can be called', async () => {
        const authors = new Set(
          (await get('/models/user?output_modalities=all')).data.map(
            (model: { owned_by: string }) => model.owned_by,
          ),
        )
        expect([...authors].sort()).toEqual(['acme', 'sandbox', 'service'])
        expect(await get('/models/user?limit=1')).toMatchObject({ has_more: true, last_id: 'acme/cheap-1' })
      })
    })

    describe('E16 GET /model/{author}/{slug}', () => {
      const model = async (slug: string) => (await get(`/model/${slug}`)).data

      test('E16 returns the model as it is listed', async () => {
        expect(await model('acme/cheap-1')).toEqual((await get('/models?q=acme/cheap-1')).data[0])
      })

      test('E16 a variant suffix that has a model of its own leads to it', async () => {
        expect(await model('sandbox/echo:free')).toMatchObject({
          id: 'sandbox/echo:free',
          canonical_slug: 'sandbox/echo',
          pricing: { prompt: '0', completion: '0' },
        })
        expect((await model('sandbox/echo')).pricing.prompt).toBe('0.000001')
        expect(await model('sandbox/echo%3Afree')).toEqual(await model('sandbox/echo:free'))
      })

      test('E16 a variant suffix that changes the routing leads to the base model', async () => {
        for (const suffix of ['nitro', 'floor', 'exacto', 'online', 'nitro:online']) {
          expect((await model(`acme/cheap-1:${suffix}`)).id).toBe('acme/cheap-1')
        }
        expect((await model('sandbox/echo:free:online')).id).toBe('sandbox/echo:free')
      })

      test('E16 known slug aliases are resolved', async () => {
        expect((await model('acme/small')).id).toBe('acme/cheap-1')
        expect((await model('anthropic/claude-sonnet-4-5')).id).toBe('anthropic/claude-sonnet-4.5')
      })

      test('E16 ~author/family-latest has the data of the newest model and names it', async () => {
        expect(await model('~acme/dear-latest')).toMatchObject({
          id: '~acme/dear-latest',
          canonical_slug: 'acme/dear-2',
          context_length: 64_000,
          alias_target: { slug: 'acme/dear-2', name: 'Acme Dear 2' },
          links: { details: '/api/v1/models/~acme/dear-latest/endpoints' },
        })
        expect((await model('acme/dear-2')).alias_target).toBeUndefined()
      })

      test('E16 supported_voices is a list for speech models and null for others', async () => {
        expect((await model('sandbox/speaker')).supported_voices).toContain('alloy')
        expect((await model('sandbox/echo')).supported_voices).toBeNull()
      })

      test.each([
        'acme/nothing',
        'nobody/cheap-1',
        'acme/cheap-1:free',
        'acme/cheap-1:thinking',
        'acme/cheap-1:unheard',
        'Acme/cheap-1',
        '~acme/nothing-latest',
        '__proto__/constructor',
      ])('E16 404 for %s', async (slug) => {
        expect((await server().call('GET', `/model/${slug}`)).status).toBe(404)
      })

      test('E16 a key is needed, and any key will do', async () => {
        expect((await server().call('GET', '/model/acme/cheap-1', { key: null })).status).toBe(401)
        const response = await server().call('GET', '/model/acme/cheap-1', {
          key: server().foreign.inferenceKey,
        })
        expect(response.status).toBe(200)
      })

      test('the SDKs of two vendors request one segment and expect the bare record', async () => {
        const { status, body } = await server().call('GET', '/models/acme%2Fcheap-1')
        expect([status, body.id, body.object, body.type]).toEqual([200, 'acme/cheap-1', 'model', 'model'])
        expect((await server().call('GET', '/models/acme%2Fnone')).status).toBe(404)
        expect((await server().call('GET', '/models/none')).status).toBe(404)
      })

      test('E16 400 for a path that is not valid UTF-8', async () => {
        expect((await server().call('GET', '/model/acme/%FF')).status).toBe(400)
      })

      test('E16 works for every model of the catalog, and so does the list of its endpoints', async () => {
        const models = server().gateway.catalog.models
        expect(models.length).toBeGreaterThan(300)
        const wrong: string[] = []
        const check = async (id: string) => {
          const record = await model(id)
          const { data } = await get(record.links.details.replace('/api/v1', ''))
          if (record.id !== id || data.endpoints.length === 0) wrong.push(id)
        }
        const together = 20
        for (let start = 0; start < models.length; start += together)
          await Promise.all(models.slice(start, start + together).map(({ id }) => check(id)))
        expect(wrong).toEqual([])
      })
    })
  },
  { settings },
)
