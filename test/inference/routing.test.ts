import { describe, expect, test } from 'bun:test'
import { collectAttempts, collectRefusal, describeRouting, sendRouted } from './routing-fixture.ts'

const tools = [{ type: 'function', function: { name: 'look_up', parameters: { type: 'object' } } }]
const picture = [
  { type: 'text', text: 'What is this?' },
  { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
]

type Provider = Record<string, unknown>
type Case = [model: string, provider: Provider, tried: string, more?: object]

function withMore([model, provider, tried, more = {}]: Case): Required<Case> {
  return [model, provider, tried, more]
}

describeRouting('a preference', (routed) => {
  /** The endpoints in the order they are tried, by name. */
  const each = (field: string, cases: Case[]) =>
    describe(field, () => {
      test.each(cases.map(withMore))(`test/%s with %j: %s`, async (model, provider, tried, more) => {
        const result = await collectAttempts(routed(), { model: `test/${model}`, provider, ...more })
        expect(result.tried.join(' ')).toBe(tried)
      })
    })

  const rejected = (field: string, cases: [model: string, provider: Provider, reason: string][]) =>
    test.each(cases)(`${field}: test/%s with %j leaves no candidate: %s`, async (model, provider, reason) => {
      const { tried, code, excluded } = await collectRefusal(routed(), { model: `test/${model}`, provider })
      expect({ tried, code, excluded }).toEqual({
        tried: [],
        code: 'constraint_filtered',
        excluded: expect.arrayContaining([reason]),
      })
    })

  const malformed = (field: string, ...values: unknown[]) =>
    test.each(values)(`${field}: %j is 400 and names the field`, async (value) => {
      const { status, body } = await sendRouted(routed(), { provider: { [field]: value } })
      expect(status).toBe(400)
      expect(body.error.message).toContain(`provider.${field}`)
    })

  each('none', [
    ['plain', {}, 'alpha beta gamma'],
    ['tagged', {}, 'alpha alpha/turbo openai'],
  ])

  each('order', [
    ['plain', { order: ['gamma', 'alpha'] }, 'gamma alpha beta'],
    ['plain', { order: ['Alpha Cloud'] }, 'alpha beta gamma'],
    ['plain', { order: ['beta', 'alpha cloud'] }, 'beta alpha gamma'],
    ['plain', { order: [] }, 'alpha beta gamma'],
    ['plain', { order: ['unknown', 'beta'] }, 'beta alpha gamma'],
    ['plain', { order: ['gamma'], sort: 'price' }, 'gamma alpha beta'],
    ['tagged', { order: ['alpha/turbo'] }, 'alpha/turbo alpha openai'],
    ['tagged', { order: ['openai', 'alpha'] }, 'openai alpha alpha/turbo'],
    ['tagged', { order: ['vendor_b'] }, 'openai alpha alpha/turbo'],
    ['tagged', { order: ['OpenAI', 'alpha/turbo'] }, 'openai alpha/turbo alpha'],
  ])
  malformed('order', 'alpha', [1], [''])

  each('allow_fallbacks', [
    ['plain', { allow_fallbacks: false }, 'alpha'],
    ['plain', { allow_fallbacks: false, sort: 'price' }, 'alpha'],
    ['plain', { allow_fallbacks: false, order: ['gamma', 'beta'] }, 'gamma beta'],
    ['plain', { allow_fallbacks: true }, 'alpha beta gamma'],
    ['plain', { allow_fallbacks: null }, 'alpha beta gamma'],
  ])
  malformed('allow_fallbacks', 'no')
  test('allow_fallbacks: the client gets the error of the provider', async () => {
    const { status, body } = await collectAttempts(routed(), { provider: { allow_fallbacks: false } })
    expect([status, body.error.message]).toEqual([502, 'out of order'])
    expect(body.error.metadata).not.toHaveProperty('previous_errors')
  })

  each('only', [
    ['plain', { only: ['beta', 'gamma'] }, 'beta gamma'],
    ['plain', { only: ['ALPHA CLOUD'] }, 'alpha'],
    ['plain', { only: ['beta', 'gamma'], order: ['gamma'] }, 'gamma beta'],
    ['tagged', { only: ['alpha'] }, 'alpha alpha/turbo'],
    ['tagged', { only: ['alpha/turbo'] }, 'alpha/turbo'],
    ['tagged', { only: ['vendor_b'] }, 'openai'],
  ])
  rejected('only', [
    ['plain', { only: ['delta'] }, 'allowed_providers'],
    ['plain', { only: [] }, 'allowed_providers'],
  ])
  malformed('only', 'alpha')

  each('ignore', [
    ['plain', { ignore: ['alpha'] }, 'beta gamma'],
    ['plain', { ignore: ['Alpha Cloud', 'beta'] }, 'gamma'],
    ['tagged', { ignore: ['alpha'] }, 'openai'],
    ['tagged', { ignore: ['alpha/turbo'] }, 'alpha openai'],
    ['tagged', { only: ['alpha'], ignore: ['alpha/turbo'] }, 'alpha'],
  ])
  rejected('ignore', [['plain', { ignore: ['alpha', 'beta', 'gamma'] }, 'allowed_providers']])
  malformed('ignore', { alpha: true })

  each('require_parameters', [
    ['able', { require_parameters: true }, 'beta', { temperature: 1, top_k: 3 }],
    ['able', { require_parameters: true }, 'alpha beta gamma delta', { max_tokens: 5 }],
    ['able', { require_parameters: false }, 'alpha beta gamma delta', { temperature: 1, top_k: 3 }],
  ])
  test('require_parameters: no endpoint supports the request', async () => {
    const body = { model: 'test/able', provider: { require_parameters: true }, logit_bias: { 1: 2 } }
    expect(await collectRefusal(routed(), body)).toMatchObject({
      tried: [],
      excluded: ['require_parameters'],
    })
  })
  malformed('require_parameters', 1)

  each('data_collection', [
    ['data', { data_collection: 'deny' }, 'gamma'],
    ['data', { data_collection: 'allow' }, 'alpha beta gamma'],
  ])
  rejected('data_collection', [
    ['tagged', { data_collection: 'deny', only: ['alpha'] }, 'data_policy:training'],
  ])
  malformed('data_collection', 'never')

  each('zdr', [
    ['data', { zdr: true }, 'gamma'],
    ['data', { zdr: false }, 'alpha beta gamma'],
  ])
  rejected('zdr', [['data', { zdr: true, ignore: ['gamma'] }, 'data_policy:zdr']])
  malformed('zdr', 'yes')

  each('enforce_distillable_text', [
    ['data', { enforce_distillable_text: true }, 'alpha beta gamma'],
    ['plain', { enforce_distillable_text: false }, 'alpha beta gamma'],
  ])
  rejected('enforce_distillable_text', [['plain', { enforce_distillable_text: true }, 'distillable']])
  malformed('enforce_distillable_text', 0)

  each('quantizations', [
    ['quantized', { quantizations: ['fp4'] }, 'alpha beta gamma'],
    ['quantized', { quantizations: ['mxfp4'] }, 'beta'],
    ['quantized', { quantizations: ['fp8'] }, 'delta epsilon'],
    ['quantized', { quantizations: ['mxfp8', 'nvfp4'] }, 'gamma epsilon'],
    ['quantized', { quantizations: ['unknown'] }, 'zeta'],
  ])
  rejected('quantizations', [
    ['quantized', { quantizations: ['int8'] }, 'quantization'],
    ['plain', { quantizations: ['bf16'] }, 'quantization'],
  ])
  malformed('quantizations', ['fp5'], 'fp8')

  each('max_price', [
    ['dear', {}, 'delta alpha beta gamma epsilon'],
    ['dear', { max_price: { prompt: 2 } }, 'delta alpha beta'],
    ['dear', { max_price: { prompt: '2' } }, 'delta alpha beta'],
    ['dear', { max_price: { prompt: '1.999999' } }, 'delta alpha'],
    ['dear', { max_price: { completion: 4 } }, 'delta gamma'],
    ['dear', { max_price: { prompt: 2, completion: 4.5 } }, 'delta beta'],
    ['dear', { max_price: { request: 0.009 } }, 'delta alpha beta'],
    ['dear', { max_price: { request: '0.01' } }, 'delta alpha beta gamma'],
    ['dear', { max_price: { image: 0.01 } }, 'alpha beta gamma'],
    ['dear', { max_price: { audio: '0.00009' } }, 'alpha beta gamma'],
    ['dear', { max_price: {} }, 'delta alpha beta gamma'],
  ])
  rejected('max_price', [
    ['dear', { max_price: { prompt: 0.1 } }, 'max_price'],
    ['dear', { max_price: { prompt: 100 }, only: ['epsilon'] }, 'max_price'],
  ])
  malformed('max_price', 1, { prompt: -1 }, { prompt: 'cheap' }, { tokens: 1 })

  malformed('preferred_min_throughput', 'fast', { p42: 1 }, -1)
  malformed('preferred_max_latency', 'fast', { p42: 1 }, { p50: -1 })

  describe('sort', () => {
    /** Latency falls and throughput grows from alpha over beta to gamma; tool calls are best at beta. */
    const learn = (model: string) => {
      const { routing, clock } = routed().server.gateway
      for (const [index, slug] of ['alpha', 'beta', 'gamma'].entries()) {
        const health = routing.health.getOrCreate(`test/${model} ${slug}`)
        const performance = { firstTokenMs: 900 - 400 * index, tokensPerSecond: 10 + 40 * index }
        for (let count = 0; count < 60; count++) {
          health.recordSuccess(clock.now(), performance)
          health.recordToolCalls(clock.now(), slug === 'beta' || count % 2 > 0)
        }
      }
    }
    const firstFor = async (body: object) => {
      learn('plain')
      const { body: reply } = await sendRouted(routed(), { ...body })
      return reply.provider
    }

    test.each([
      [{ sort: 'price' }, 'Alpha Cloud'],
      [{ sort: { by: 'price' } }, 'Alpha Cloud'],
      [{ sort: 'throughput' }, 'gamma'],
      [{ sort: 'latency' }, 'gamma'],
      [{ sort: { by: 'latency', partition: 'model' } }, 'gamma'],
      [{ sort: 'exacto' }, 'beta'],
      [{ sort: { by: 'exacto', partition: null } }, 'beta'],
      [{ sort: null }, 'Alpha Cloud'],
      [{ sort: 'latency', order: ['beta'] }, 'beta'],
      [{ preferred_max_latency: 0.7 }, 'beta'],
      [{ preferred_max_latency: { p50: 0.7, p99: 0.2 } }, 'gamma'],
      [{ preferred_max_latency: { p90: 0.3 } }, 'gamma'],
      [{ preferred_min_throughput: 30 }, 'beta'],
      [{ preferred_min_throughput: { p75: 80 } }, 'gamma'],
      [{ preferred_min_throughput: 30, preferred_max_latency: 0.3 }, 'gamma'],
      [{ preferred_min_throughput: 1000 }, 'Alpha Cloud'],
      [{ preferred_max_latency: 0.7, order: ['alpha', 'gamma'] }, 'gamma'],
    ])('%j: %s serves the request', async (provider, name) => {
      expect(await firstFor({ provider })).toBe(name)
    })

    test.each([
      ['nitro', 'gamma'],
      ['floor', 'Alpha Cloud'],
      ['exacto', 'beta'],
    ])(':%s sorts too', async (variant, name) => {
      expect(await firstFor({ model: `test/plain:${variant}` })).toBe(name)
    })

    test('a request with tools prefers the endpoint with the best tool calls', async () => {
      expect(await firstFor({ tools })).toBe('beta')
      expect(await firstFor({ tools, provider: { sort: 'price' } })).toBe('Alpha Cloud')
    })

    test('default_provider_sort of the workspace applies unless the request says otherwise', async () => {
      const { server } = routed()
      const path = `/workspaces/${server.own.workspace.id}`
      const setDefault = (sort: string | null) =>
        server.call('PATCH', path, { body: { default_provider_sort: sort } })
      await setDefault('throughput')
      expect(await firstFor({})).toBe('gamma')
      expect(await firstFor({ provider: { sort: 'price' } })).toBe('Alpha Cloud')
      expect(await firstFor({ model: 'test/plain:exacto' })).toBe('beta')
      expect(await firstFor({ provider: { order: ['beta'] } })).toBe('beta')
      await setDefault('price')
      expect(await firstFor({ tools })).toBe('Alpha Cloud')
      await setDefault(null)
      expect(await firstFor({ tools })).toBe('beta')
    })

    test('service_metadata names the success rate below which endpoints are tried later', async () => {
      learn('plain')
      const floorOf = async (body: object) => {
        const headers = { 'x-service-metadata': 'enabled' }
        const { body: reply } = await sendRouted(routed(), { ...body }, { headers })
        return reply.service_metadata.params?.quality_floor
      }
      expect(await floorOf({ tools })).toBe(0.95)
      expect(await floorOf({})).toBeUndefined()
      expect(await floorOf({ tools, provider: { sort: 'exacto' } })).toBeUndefined()
    })

    test('partition model keeps the models apart, none ranks all endpoints together', async () => {
      const models = ['test/gift', 'test/plain']
      const grouped = await collectAttempts(routed(), {
        model: undefined,
        models,
        provider: { sort: { by: 'price' } },
      })
      expect(grouped.attempts.map(({ endpoint }) => endpoint)).toEqual([
        'gift alpha',
        'plain alpha',
        'plain beta',
        'plain gamma',
      ])
      const provider = { sort: { by: 'price', partition: 'none' } }
      const mixed = await collectAttempts(routed(), { model: undefined, models, provider })
      expect(mixed.attempts.map(({ endpoint }) => endpoint)).toEqual([
        'plain alpha',
        'plain beta',
        'plain gamma',
        'gift alpha',
      ])
    })

    test('an endpoint that is too slow is tried last', async () => {
      learn('plain')
      routed().upstream.setDefault({ status: 500, json: {} })
      await sendRouted(routed(), { provider: { preferred_max_latency: 0.7 } })
      expect(routed().upstream.requests.map(({ json }) => json.model)).toEqual([
        'plain beta',
        'plain gamma',
        'plain alpha',
      ])
    })
  })
  malformed('sort', 'speed', { by: 'speed' }, { partition: 'all' })

  test('an unknown preference is 400', async () => {
    const { status, body } = await sendRouted(routed(), { provider: { zrd: true } })
    expect(status).toBe(400)
    expect(body.error.message).toContain('zrd')
  })

  const format = { type: 'json_object' }
  each('what only some endpoints can do', [
    ['able', {}, 'beta', { tools }],
    ['able', {}, 'gamma delta', { response_format: format }],
    ['able', {}, 'alpha beta gamma delta', { response_format: { type: 'text' } }],
    ['able', {}, 'gamma', { verbosity: 'low' }],
    ['able', { ignore: ['beta'] }, 'alpha gamma delta', { tools }],
    ['plain', {}, 'alpha beta gamma', { tools, response_format: format, verbosity: 'low' }],
    ['context', {}, 'alpha beta gamma', { max_tokens: 100 }],
    ['context', {}, 'gamma', { max_tokens: 5000 }],
    ['context', {}, 'beta gamma', { messages: [{ role: 'user', content: 'word '.repeat(1000) }] }],
    [
      'context',
      { only: ['alpha'] },
      'alpha',
      { messages: [{ role: 'user', content: 'word '.repeat(1000) }] },
    ],
  ])

  test('of several models, only those that accept images get an image', async () => {
    const models = ['test/blind', 'test/eyes']
    const messages = [{ role: 'user', content: picture }]
    const withImage = await collectAttempts(routed(), { model: undefined, models, messages })
    expect(withImage.attempts.map(({ endpoint }) => endpoint)).toEqual(['eyes beta'])
    const alone = await collectAttempts(routed(), { model: 'test/blind', messages })
    expect(alone.tried).toEqual(['alpha'])
    const withoutImage = await collectAttempts(routed(), { model: undefined, models })
    expect(withoutImage.attempts.map(({ endpoint }) => endpoint)).toEqual(['blind alpha', 'eyes beta'])
  })

  each('service_tier', [
    ['tiers', {}, 'alpha beta'],
    ['tiers', {}, 'alpha beta', { service_tier: 'default' }],
    ['tiers', {}, 'alpha beta', { service_tier: 'auto' }],
    ['tiers', {}, 'alpha/priority alpha beta', { service_tier: 'priority' }],
    ['tiers', {}, 'alpha/priority alpha beta', { service_tier: 'fast' }],
    ['tiers', {}, 'beta/flex', { service_tier: 'flex' }],
    ['plain', {}, 'alpha beta gamma', { service_tier: 'flex' }],
    ['tiers', { only: ['alpha'] }, 'alpha'],
    ['tiers', { ignore: ['alpha'] }, 'beta', { service_tier: 'priority' }],
    ['tiers', { ignore: ['alpha/priority'] }, 'alpha beta', { service_tier: 'priority' }],
    ['tiers', { only: ['alpha/priority'] }, 'alpha/priority'],
    ['tiers', { only: ['alpha'] }, 'alpha/priority alpha', { service_tier: 'priority' }],
    ['tiers', { only: ['beta'] }, 'beta/flex', { service_tier: 'flex' }],
    ['tiers', { order: ['beta'] }, 'beta alpha/priority alpha', { service_tier: 'priority' }],
    ['tiers', { order: ['alpha'] }, 'alpha/priority alpha beta', { service_tier: 'priority' }],
    ['tiers', { order: ['alpha/priority'] }, 'alpha/priority alpha beta'],
    ['tiers', { order: ['alpha', 'beta/flex'] }, 'alpha beta/flex beta'],
    ['tiers', { order: ['beta'] }, 'beta alpha', { model: 'test/tiers:nitro' }],
    ['tiers', { sort: 'price' }, 'alpha beta'],
    ['tiers', {}, 'alpha beta', { model: 'test/tiers:floor', service_tier: 'default' }],
    ['tiers', {}, 'beta/flex alpha beta', { model: 'test/tiers:floor' }],
    ['tiers', {}, 'alpha beta alpha/priority', { model: 'test/tiers:nitro' }],
  ])

  describe('names of models', () => {
    test.each([
      ['test/nickname', 'plain alpha'],
      ['test/nickname:floor', 'plain alpha'],
      ['test/gift:free', 'gift:free alpha'],
      ['test/gift', 'gift alpha'],
      ['~test/line-latest', 'line-2 beta'],
    ])('%s is requested as %s', async (model, endpoint) => {
      const { attempts } = await collectAttempts(routed(), { model })
      expect(attempts[0]?.endpoint).toBe(endpoint)
    })

    test('models and fallbacks are tried in their order, each with all its endpoints', async () => {
      const ways = [
        { model: 'test/line-2', models: ['test/plain', 'test/line-1'] },
        { model: undefined, models: ['test/line-2', 'test/plain', 'test/line-1'] },
        { model: 'test/line-2', fallbacks: [{ model: 'test/plain' }, { model: 'test/line-1' }] },
      ]
      for (const way of ways) {
        const { attempts } = await collectAttempts(routed(), way)
        expect(attempts.map(({ endpoint }) => endpoint)).toEqual([
          'line-2 beta',
          'plain alpha',
          'plain beta',
          'plain gamma',
          'line-1 alpha',
        ])
      }
    })

    test('I11 several names for one model are one model: each endpoint is tried once', async () => {
      const models = ['test/nickname', 'test/line-2', 'test/plain:nitro']
      const { attempts } = await collectAttempts(routed(), { model: 'test/plain', models })
      expect(attempts.map(({ endpoint }) => endpoint)).toEqual([
        'plain alpha',
        'plain beta',
        'plain gamma',
        'line-2 beta',
      ])
    })

    test('the model that served the request is reported and charged', async () => {
      routed().upstream.enqueue({ status: 500, json: {} })
      const models = ['test/line-2', 'test/line-1']
      const { body } = await sendRouted(routed(), { model: undefined, models })
      expect(body.model).toBe('test/line-1')
      const { cost } = body.usage
      expect(cost).toBeGreaterThan(0)
    })

    test('presets carry preferences, in all three ways to name one, and the request overrides them', async () => {
      const messages = [{ role: 'system', content: 'Be brief.' }]
      const body = { model: 'test/plain', messages, provider: { order: ['gamma'] } }
      await routed().server.call('POST', '/presets/last-first/chat/completions', { body })
      const named = [
        { model: '@preset/last-first' },
        { model: 'test/plain@preset/last-first' },
        { model: 'test/plain', preset: 'last-first' },
      ]
      for (const way of named) {
        expect((await collectAttempts(routed(), way)).tried).toEqual(['gamma', 'alpha', 'beta'])
        const own = { ...way, provider: { order: ['beta'] } }
        expect((await collectAttempts(routed(), own)).tried).toEqual(['beta', 'alpha', 'gamma'])
      }
    })
  })

  describe('regions', () => {
    test.each([
      ['eu.example.com', ['brussels']],
      ['us.example.com', ['denver']],
      ['gateway.example.com', ['alpha', 'brussels', 'denver']],
    ])('%s uses %j', async (host, endpoints) => {
      const { tried } = await collectAttempts(routed(), { model: 'test/regions' }, { headers: { host } })
      expect(tried).toEqual(endpoints)
    })

    test('a regional host without an endpoint in its region calls none', async () => {
      const init = { headers: { host: 'eu.example.com' } }
      expect(await collectRefusal(routed(), { model: 'test/plain' }, init)).toMatchObject({
        tried: [],
        excluded: ['data_region'],
      })
    })
  })
})
