import { beforeEach, describe, expect, test } from 'bun:test'
import { rollUp } from '../../src/analytics/rollups/roll-up.ts'
import { setKeyGuardrail } from '../guardrails/support.ts'
import { buildResult, buildSnapshot } from '../support/benchmarks.ts'
import { insertGeneration } from '../support/generations.ts'
import { describeOnEachDatabase, resetRouting, type TestServer } from '../support/harness.ts'
import { collectAttempts, describeRouting, sendRouted } from './routing-fixture.ts'
import { type FormatName, formatNames, formats } from './two-upstreams.ts'

/** Dollars for a million tokens; each is served by the sandbox. */
const prices = { tiny: 1, small: 2, medium: 3, large: 4, huge: 5, giant: 6 }

function declareModel([name, price]: [string, number]) {
  const perToken = (price / 1e6).toFixed(9)
  const pricing = { prompt: perToken, completion: perToken }
  const eyes = name === 'giant' ? { input_modalities: ['text', 'image'] } : {}
  const supported_parameters = ['max_tokens', 'temperature', ...(name === 'tiny' ? [] : ['tools'])]
  const context_length = name === 'tiny' ? 1000 : 100_000
  const endpoints = [{ provider: 'sandbox', upstream_model: 'echo', pricing }]
  return { id: `test/${name}`, name, ...eyes, supported_parameters, context_length, endpoints }
}

const nothing = { pricing: { prompt: '0', completion: '0' } }
const gifts = ['first', 'second', 'third'].map((name) => ({
  id: `test/${name}:free`,
  name,
  endpoints: [{ provider: 'sandbox', upstream_model: 'echo', ...nothing }],
}))

const settings = JSON.stringify({
  regions: { hosts: { 'eu.example.com': 'europe' } },
  datasets: { classify_one_in: 1 },
  routers: {
    disabled: ['service/auto-beta'],
    allowed_models: ['test/*'],
    excluded_models: ['test/huge'],
    switchyard: { weak: ['test/small'], strong: ['test/large'], judge: 'test/medium' },
  },
  models: [...Object.entries(prices).map(declareModel), ...gifts],
})

const dayMs = 86_400_000
const tools = [{ type: 'function', function: { name: 'look_up', parameters: { type: 'object' } } }]

describeOnEachDatabase(
  'router models',
  (server) => {
    beforeEach(async () => {
      resetRouting(server())
      server().gateway.benchmarks.current = buildSnapshot([])
      // The spending of the tests before is older than what routers rank by.
      server().clock.advance(8 * dayMs)
      known = new Set((await readGenerations()).map(({ id }) => id))
    })

    let known = new Set<string>()
    const readGenerations = () => server().gateway.db.selectFrom('generations').selectAll().execute()
    /** Lists the generations of this test. */
    const listGenerations = async () => (await readGenerations()).filter(({ id }) => !known.has(id))

    test('guardrails name router models: a denied one is 403, and an allowed one chooses among allowed models', async () => {
      const ask = (model: string) =>
        server().call('POST', '/chat/completions', {
          key: server().own.inferenceKey,
          body: { model, messages: [{ role: 'user', content: 'Hello' }] },
        })
      await setKeyGuardrail(server(), { ignored_models: ['service/free'], allowed_models: null })
      const denied = await ask('service/free')
      expect([denied.status, denied.body.error.message]).toEqual([
        403,
        expect.stringContaining('service/free'),
      ])
      const allowed_models = ['service/free', 'test/second:free']
      await setKeyGuardrail(server(), { ignored_models: null, allowed_models })
      const allowed = await ask('service/free')
      expect([allowed.status, allowed.body.model]).toEqual([200, 'test/second:free'])
      await setKeyGuardrail(server(), { ignored_models: null, allowed_models: null })
    })

    test.each(['service/auto', 'service/free', 'test/second:free'])(
      'a guardrail that allows router models only leaves them nothing to choose: %s',
      async (model) => {
        await setKeyGuardrail(server(), { allowed_models: ['service/auto', 'service/free'] })
        const { status, body } = await server().call('POST', '/chat/completions', {
          key: server().own.inferenceKey,
          body: { model, messages: [{ role: 'user', content: 'Hello' }] },
        })
        await setKeyGuardrail(server(), { allowed_models: null })
        expect([status, body.error.metadata.reason, body.error.message]).toEqual([
          403,
          'guardrail_blocked',
          expect.stringContaining('allowed_models'),
        ])
        expect(await listGenerations()).toEqual([])
      },
    )

    const send = (
      body: Record<string, unknown>,
      { format = 'chat', headers = {} }: { format?: FormatName; headers?: Record<string, string> } = {},
    ) => sendTo(server(), formats[format].path, { ...formats[format].body, ...body }, headers)

    const ask = async (body: Record<string, unknown>, headers: Record<string, string> = {}) => {
      const response = await send(body, { headers: { 'x-service-metadata': 'enabled', ...headers } })
      // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
      const reply = (await response.json()) as any
      return { status: response.status, dropped: response.headers.get('x-headgate-dropped'), reply }
    }

    const auto = (settings: Record<string, unknown>) => ({
      model: 'service/auto',
      plugins: [{ id: 'auto-router', ...settings }],
    })

    const chosen = async (body: Record<string, unknown>) => {
      const { reply } = await ask(body)
      return reply.model ?? reply.error
    }

    describe.each(formatNames)('in %s', (format) => {
      test.each([false, true])(
        'the concrete model replies and the records name the router: stream %p',
        async (stream) => {
          const response = await send({ model: 'service/auto', stream }, { format })
          const text = await response.text()
          expect([response.status, text]).toEqual([200, expect.stringContaining('test/tiny')])
          expect(text).not.toContain('service/auto')
          const [row] = await listGenerations()
          expect(row).toMatchObject({
            requested_model: 'service/auto',
            model: 'test/tiny',
            status: 'completed',
          })
          const record = await server().call('GET', `/generation?id=${row?.id}`, {
            key: server().own.inferenceKey,
          })
          expect(record.body.data).toMatchObject({ router: 'service/auto', model: 'test/tiny' })
        },
      )
    })

    test('in the formats of Gemini and Ollama', async () => {
      const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }]
      const gemini = await sendTo(server(), '/v1beta/models/service/auto:generateContent', { contents })
      expect([gemini.status, (await gemini.json()) as object]).toMatchObject([
        200,
        { modelVersion: 'test/tiny' },
      ])
      const messages = [{ role: 'user', content: 'Hello' }]
      const ollama = await sendTo(server(), '/api/chat', { model: 'service/auto', messages, stream: false })
      expect([ollama.status, (await ollama.json()) as object]).toMatchObject([200, { model: 'test/tiny' }])
    })

    test('the metadata say how and why', async () => {
      const { reply } = await ask({
        model: 'service/auto',
        messages: [
          {
            role: 'user',
            content: 'Fix this bug:\n```python\nprint(1/0)\n```\nZeroDivisionError: division by zero',
          },
        ],
      })
      const metadata = reply.service_metadata
      expect(metadata).toMatchObject({ requested: 'service/auto', strategy: 'auto' })
      expect(metadata.pipeline).toEqual([
        {
          type: 'plugin',
          name: 'auto-router',
          summary: expect.stringContaining('service/auto chose test/tiny.'),
          data: {
            task_type: 'code:debugging',
            model: 'test/tiny',
            reason: expect.any(String),
            fallbacks: [],
            runners_up: [
              { model: 'test/small', reason: 'Its price is outside the cost tier.' },
              { model: 'test/medium', reason: 'Its price is outside the cost tier.' },
              { model: 'test/large', reason: 'Its price is outside the cost tier.' },
              { model: 'test/giant', reason: 'Its price is outside the cost tier.' },
            ],
          },
        },
      ])
    })

    test('a quote names the model, the kind of task and the price, and sends nothing', async () => {
      const key = server().own.inferenceKey
      const { status, body } = await server().call('POST', '/quote', {
        key,
        body: { model: 'service/auto', messages: [{ role: 'user', content: 'Hello' }] },
      })
      expect([status, body.data]).toMatchObject([
        200,
        {
          requested: 'service/auto',
          strategy: 'auto',
          endpoints: { available: [{ model: 'test/tiny', rank: 1 }] },
          would: 'be_sent',
          pipeline: [{ name: 'auto-router', data: { model: 'test/tiny', task_type: expect.any(String) } }],
        },
      ])
      expect(body.data.price.expected).toBeGreaterThan(0)
      expect(await listGenerations()).toEqual([])
    })

    describe('service/auto', () => {
      test('the cost tier selects by price, the older setting is a ceiling', async () => {
        const tiers = ['low', 'medium', 'high', 'xhigh', 'max']
        const byTier = await Promise.all(tiers.map((cost_tier) => chosen(auto({ cost_tier }))))
        expect(byTier).toEqual(['test/tiny', 'test/small', 'test/medium', 'test/large', 'test/giant'])
        expect(await chosen(auto({ cost_quality_tradeoff: 0, cost_tier: 'max' }))).toBe('test/giant')
        // Not the cheapest below the ceiling: this one can do more.
        expect(await chosen(auto({ cost_quality_tradeoff: 0 }))).toBe('test/small')
      })

      test('patterns of the request restrict it, an exclusion wins, and the operator rules', async () => {
        expect(await chosen(auto({ allowed_models: ['test/l*', 'test/huge'] }))).toBe('test/large')
        expect(await chosen(auto({ excluded_models: ['test/tiny'] }))).toBe('test/small')
        const { status, reply } = await ask(
          auto({ allowed_models: ['test/t*'], excluded_models: ['test/tiny'] }),
        )
        expect([status, reply.error.message]).toEqual([404, expect.stringContaining('found no model')])
        expect((await ask(auto({ allowed_models: ['test/huge'] }))).status).toBe(404)
        expect((await ask(auto({ allowed_models: ['sandbox/*'] }))).status).toBe(404)
      })

      test.each([
        ['too many patterns', { allowed_models: Array.from({ length: 1025 }, () => 'a') }],
        ['a pattern that is too long', { excluded_models: ['a'.repeat(1025)] }],
        ['too many characters', { allowed_models: Array.from({ length: 65 }, () => 'a'.repeat(1024)) }],
        ['an unknown tier', { cost_tier: 'free' }],
        ['a tradeoff out of range', { cost_quality_tradeoff: 11 }],
      ])('%s is 400', async (_, settings) => {
        const { status, reply } = await ask(auto(settings))
        expect([status, reply.error.message]).toEqual([400, expect.stringContaining('plugins')])
      })

      test('it chooses a model that supports what the request needs', async () => {
        expect(await chosen({ model: 'service/auto', tools })).toBe('test/small')
        expect(await chosen({ model: 'service/auto', max_tokens: 2000 })).toBe('test/small')
        const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
        expect(await chosen({ model: 'service/auto', messages: [{ role: 'user', content: [image] }] })).toBe(
          'test/giant',
        )
        expect(await chosen({ model: 'service/auto', provider: { only: ['nobody'] } })).toMatchObject({
          code: 404,
        })
      })

      test('it ranks by what this account, and no other, spent in the last seven days', async () => {
        const { gateway, own, foreign } = server()
        const days = (count: number) => new Date(gateway.clock.now() - count * dayMs).toISOString()
        const spend = (tenant: typeof own, model: string, cost_nanos: bigint, created_at: string) =>
          insertGeneration(gateway, tenant, { model, cost_nanos, created_at })
        await spend(own, 'test/large', 5_000n, days(2))
        await spend(own, 'test/small', 9_000n, days(9))
        await spend(foreign, 'test/medium', 9_000n, days(1))
        const all = { cost_quality_tradeoff: 0 }
        expect(await chosen(auto(all))).toBe('test/large')
      })

      test('spending on the same kind of task ranks before all spending', async () => {
        const { gateway } = server()
        const debugging = 'Fix this bug:\n```python\nprint(1/0)\n```\nZeroDivisionError: division by zero'
        const translation = 'Translate the following sentence to French: good morning'
        const say = (model: string, content: string) => ask({ model, messages: [{ role: 'user', content }] })
        await say('test/large', debugging)
        for (let times = 0; times < 3; times++) await say('test/medium', translation)
        await rollUp({ db: gateway.db }, { minRows: 1 })
        const route = async (content: string) =>
          chosen({ ...auto({ cost_quality_tradeoff: 0 }), messages: [{ role: 'user', content }] })
        expect(await route(debugging)).toBe('test/large')
        expect(await route(translation)).toBe('test/medium')
        expect(await route('Good morning')).toBe('test/medium')
      })

      test('benchmarks rank it until there is spending', async () => {
        const results = [
          buildResult({ benchmark: 'intelligence', model: 'test/small', score: 60 }),
          buildResult({ benchmark: 'intelligence', model: 'test/medium', score: 30 }),
        ]
        server().gateway.benchmarks.current = buildSnapshot(results)
        expect(await chosen(auto({ cost_quality_tradeoff: 0 }))).toBe('test/small')
      })

      test('a session keeps its model while it is a candidate', async () => {
        const turn = (settings: object) => chosen({ ...auto({ ...settings }), session_id: 'one' })
        expect(await turn({ cost_tier: 'high' })).toBe('test/medium')
        expect(await turn({ cost_tier: 'low' })).toBe('test/medium')
        expect(await turn({ excluded_models: ['test/medium'] })).toBe('test/tiny')
        expect(await chosen({ ...auto({ cost_tier: 'low' }), session_id: 'two' })).toBe('test/tiny')
        server().clock.advance(11 * 60_000)
        expect(await turn({ cost_tier: 'max' })).toBe('test/giant')
      })

      test('pin_model keeps the model that the last reply names', async () => {
        const messages = [
          { role: 'user', content: 'Hello' },
          { role: 'assistant', content: 'Hello', model: 'test/large' },
          { role: 'user', content: 'And again' },
        ]
        expect(await chosen({ ...auto({ pin_model: true }), messages })).toBe('test/large')
        expect(await chosen({ ...auto({ pin_model: false }), messages })).toBe('test/tiny')
      })

      test('other models of the list are tried after its own', async () => {
        const models = ['service/auto', 'test/giant']
        expect(await chosen({ models })).toBe('test/tiny')
        const failing = {
          model: 'test/giant',
          models: ['service/auto'],
          messages: [{ role: 'user', content: 'x' }],
        }
        const { reply } = await ask(failing)
        expect(reply.service_metadata).toMatchObject({ requested: 'test/giant', strategy: 'direct' })
      })

      test('suffixes apply to the chosen model', async () => {
        const { reply } = await ask({ model: 'service/auto:nitro' })
        expect(reply).toMatchObject({
          model: 'test/tiny',
          service_metadata: { strategy: 'auto', params: { variants: ['nitro'] } },
        })
        expect((await ask({ model: 'service/auto:unknown' })).status).toBe(400)
      })

      test('a preset, the default model of the workspace and a count of tokens may name it', async () => {
        const { own } = server()
        await server().call('PATCH', `/workspaces/${own.workspace.id}`, {
          body: { default_text_model: 'service/auto' },
        })
        expect(await chosen({})).toBe('test/tiny')
        await server().call('PATCH', `/workspaces/${own.workspace.id}`, {
          body: { default_text_model: null },
        })
        const counted = await sendTo(server(), '/v1/messages/count_tokens', {
          model: 'service/auto',
          messages: [{ role: 'user', content: 'Hello' }],
        })
        expect([counted.status, await counted.json()]).toEqual([200, { input_tokens: expect.any(Number) }])
      })

      test('a preset names it with its settings', async () => {
        const body = { ...auto({ cost_tier: 'xhigh' }), messages: [{ role: 'system', content: 'Be brief.' }] }
        const made = await server().call('POST', '/presets/routed/chat/completions', { body })
        expect([made.status, made.body]).toEqual([200, expect.anything()])
        const { reply } = await ask({ model: '@preset/routed' })
        expect(reply).toMatchObject({
          model: 'test/large',
          service_metadata: { requested: '@preset/routed', strategy: 'auto' },
        })
      })

      test('a response in the background', async () => {
        const { url, own, gateway } = server()
        const started = await send({ model: 'service/auto', background: true }, { format: 'responses' })
        const { id } = (await started.json()) as { id: string }
        await gateway.backgroundRuns.drain(5000)
        const read = await fetch(`${url}/v1/responses/${id}`, {
          headers: { authorization: `Bearer ${own.inferenceKey}` },
        })
        expect((await read.json()) as object).toMatchObject({ status: 'completed', model: 'test/tiny' })
      })

      test('a request without messages, on a regional host, or to a disabled router is refused', async () => {
        const completion = await sendTo(server(), '/v1/completions', {
          model: 'service/auto',
          prompt: 'Hello',
        })
        expect([completion.status, await completion.text()]).toEqual([
          400,
          expect.stringContaining('needs messages'),
        ])
        const regional = await ask({ model: 'service/auto' }, { host: 'eu.example.com' })
        expect([regional.status, regional.reply.error.message]).toEqual([
          403,
          expect.stringContaining('europe'),
        ])
        const disabled = await ask({ model: 'service/auto-beta' })
        expect([disabled.status, disabled.reply.error.message]).toEqual([
          400,
          expect.stringContaining('not in the catalog'),
        ])
        const embeddings = await sendTo(server(), '/v1/embeddings', { model: 'service/auto', input: 'Hello' })
        expect([embeddings.status, await embeddings.text()]).toEqual([
          400,
          expect.stringContaining('outputs text'),
        ])
      })

      test('a guardrail restricts what it chooses', async () => {
        const made = await server().call('POST', '/keys', { body: { name: 'guarded' } })
        const guardrail = await server().call('POST', '/guardrails', {
          body: { name: 'only large', allowed_models: ['test/large'] },
        })
        await server().call('POST', `/guardrails/${guardrail.body.data.id}/assignments/keys`, {
          body: { key_hashes: [made.body.data.hash] },
        })
        const response = await sendTo(
          server(),
          '/v1/chat/completions',
          {
            model: 'service/auto',
            ...formats.chat.body,
          },
          { authorization: `Bearer ${made.body.key}` },
        )
        expect((await response.json()) as object).toMatchObject({ model: 'test/large' })
      })

      test('the settings saved for the account apply, until a request has its own', async () => {
        const save = (plugins: object[]) =>
          server().call('PUT', '/organization/plugins', { body: { plugins } })
        expect((await save([{ id: 'auto-router', cost_tier: 'max' }])).status).toBe(200)
        expect(await chosen({ model: 'service/auto' })).toBe('test/giant')
        expect(await chosen(auto({ cost_tier: 'medium' }))).toBe('test/small')
        expect(await chosen(auto({ enabled: false }))).toBe('test/tiny')
        expect((await ask({ model: 'test/tiny' })).dropped).toBeNull()
        await save([])
      })

      test('settings of a router that the request does not name are dropped', async () => {
        const { dropped, reply } = await ask({
          model: 'service/auto',
          plugins: [{ id: 'pareto-router' }, { id: 'auto-router', cost_tier: 'max' }],
        })
        expect([reply.model, dropped]).toEqual(['test/giant', 'plugins.pareto-router'])
        const plain = await ask({ model: 'test/tiny', plugins: [{ id: 'auto-router' }] })
        expect(plain.dropped).toBe('plugins.auto-router')
        const strict = await ask(
          { model: 'test/tiny', plugins: [{ id: 'auto-router' }] },
          { 'x-headgate-strict': 'true' },
        )
        expect(strict.status).toBe(400)
      })
    })

    describe('service/pareto-code', () => {
      const pareto = (settings: object = {}, suffix = '') => ({
        model: `service/pareto-code${suffix}`,
        plugins: [{ id: 'pareto-router', ...settings }],
      })

      beforeEach(() => {
        const scores = { small: 20, medium: 50, large: 90, giant: 95 }
        const results = Object.entries(scores).map(([name, score]) =>
          buildResult({ model: `test/${name}`, score }),
        )
        server().gateway.benchmarks.current = buildSnapshot(results)
      })

      test('the cheapest of the tier, with fallbacks of the same tier', async () => {
        const { reply } = await ask(pareto())
        expect(reply.model).toBe('test/large')
        expect(reply.service_metadata).toMatchObject({
          strategy: 'pareto',
          pipeline: [{ name: 'pareto-router', data: { coding_tier: 'high', fallbacks: ['test/giant'] } }],
        })
        expect(await chosen(pareto({ min_coding_score: 0 }))).toBe('test/small')
      })

      test('a maximum price selects the best model within it', async () => {
        expect(await chosen(pareto({ max_price: 3 }))).toBe('test/medium')
        expect((await ask(pareto({ max_price: 0.5 }))).status).toBe(404)
      })

      test('with :nitro the fastest', async () => {
        const { gateway } = server()
        for (const [name, tokensPerSecond] of [
          ['large', 10],
          ['giant', 90],
        ] as const)
          gateway.routing.health
            .getOrCreate(`test/${name} sandbox`)
            .recordSuccess(gateway.clock.now(), { firstTokenMs: 10, tokensPerSecond })
        expect(await chosen(pareto({}, ':nitro'))).toBe('test/giant')
      })
    })

    describe('service/free', () => {
      test('draws a free model, and charges nothing', async () => {
        const draws = [0, 0.5, 0.99]
        const models: string[] = []
        for (const draw of draws) {
          server().gateway.routing.random = () => draw
          const { reply } = await ask({ model: 'service/free' })
          expect(reply.usage.cost).toBe(0)
          expect(reply.service_metadata.strategy).toBe('free')
          models.push(reply.model)
        }
        expect(models.every((id) => id.endsWith(':free'))).toBe(true)
        expect(new Set(models).size).toBeGreaterThan(1)
      })

      test('if none supports what the request needs it is 404', async () => {
        expect((await ask({ model: 'service/free', tools })).status).toBe(404)
      })
    })

    test.each([
      ['pareto-code', 'pareto-router', { price_source: 'prompt' }, 'price_source'],
      ['pareto-code', 'pareto-router', { max_price: 1000, min_coding_score: 0.5 }, 'min_coding_score'],
      ['auto', 'auto-router', { cost_tier: 'max', cost_quality_tradeoff: 3 }, 'cost_quality_tradeoff'],
    ])('service/%s names a setting of %s that has no effect: %o', async (router, id, settings, unused) => {
      const { status, dropped } = await ask({ model: `service/${router}`, plugins: [{ id, ...settings }] })
      expect([status, dropped]).toEqual([200, `plugins.${id}.${unused}`])
    })

    describe('service/bodybuilder', () => {
      test.each(formatNames)('replies with request bodies in %s, for nothing', async (format) => {
        const prompt = 'Say hello using test/tiny and test/large'
        const body =
          format === 'responses' ? { input: prompt } : { messages: [{ role: 'user', content: prompt }] }
        const response = await send({ model: 'service/bodybuilder', ...body }, { format })
        const text = await response.text()
        expect([response.status, text]).toEqual([200, expect.stringContaining('test/large')])
        const [row] = await listGenerations()
        expect(row).toMatchObject({ model: 'service/bodybuilder', cost_nanos: 0n, status: 'completed' })
      })

      test('names what has no effect on its reply', async () => {
        const { dropped, status } = await ask({ model: 'service/bodybuilder', tools, n: 2, temperature: 1 })
        expect([status, dropped]).toEqual([200, 'n, temperature, tools'])
      })

      test('refuses a prompt that is too long to repeat in every body', async () => {
        const messages = [
          { role: 'system', content: 'x'.repeat(500_000) },
          { role: 'user', content: 'Say hello using test/tiny' },
        ]
        const { status, reply } = await ask({ model: 'service/bodybuilder', messages })
        expect([status, reply.error.param]).toEqual([400, 'messages'])
      })

      test('the bodies can be sent', async () => {
        const { reply } = await ask({
          model: 'service/bodybuilder',
          messages: [{ role: 'user', content: 'Say hello using test/tiny and test/large' }],
        })
        expect(reply.service_metadata.strategy).toBe('bodybuilder')
        const { requests } = JSON.parse(reply.choices[0].message.content)
        const replies = await Promise.all(requests.map((body: Record<string, unknown>) => ask(body)))
        expect(replies.map(({ reply: { model, choices } }) => [model, choices[0].message.content])).toEqual([
          ['test/tiny', 'Say hello'],
          ['test/large', 'Say hello'],
        ])
      })
    })

    describe('service/switchyard', () => {
      const switchyard = (algorithm: string | undefined, more: object = {}) => ({
        model: 'service/switchyard',
        plugins: [{ id: 'switchyard-router', ...(algorithm && { algorithm }) }],
        ...more,
      })
      const user = (content: string) => ({ messages: [{ role: 'user', content }] })

      test('a judge rates the request, as a request of its own', async () => {
        const { reply } = await ask(switchyard(undefined, user('Rate: 9 of 10')))
        expect(reply.model).toBe('test/large')
        expect(reply.service_metadata.pipeline[0]).toMatchObject({
          name: 'switchyard-router',
          data: { tier: 'strong', judged: true },
        })
        const rows = await listGenerations()
        expect(rows.map(({ model }) => model).sort()).toEqual(['test/large', 'test/medium'])
        expect(await chosen(switchyard('stage', user('1 of 10')))).toBe('test/small')
      })

      test('without a judge: auto, random and passthrough', async () => {
        expect(await chosen(switchyard('auto'))).toBe('test/small')
        expect(await chosen(switchyard('passthrough'))).toBe('test/small')
        server().gateway.routing.random = () => 0.9
        expect(await chosen(switchyard('random'))).toBe('test/large')
      })

      test('the request may list the models to choose from', async () => {
        const models = ['test/giant', 'test/medium']
        expect(await chosen(switchyard('auto', { models }))).toBe('test/medium')
        const { reply } = await ask(switchyard('auto', { models: ['test/giant', 'test/medium:nitro'] }))
        expect(reply.service_metadata).toMatchObject({ strategy: 'auto', params: { variants: ['nitro'] } })
        for (const unknown of ['test/none', 'service/auto']) {
          const { status, reply } = await ask(switchyard('auto', { models: ['test/giant', unknown] }))
          expect([status, reply.error.message]).toEqual([400, expect.stringContaining(unknown)])
        }
      })

      test('a quote does not ask the judge', async () => {
        const body = { ...switchyard('capability'), ...user('9 of 10') }
        const { body: quote } = await server().call('POST', '/quote', {
          key: server().own.inferenceKey,
          body,
        })
        expect(quote.data.pipeline[0].data).toMatchObject({ tier: 'strong', judged: false })
        expect(await listGenerations()).toEqual([])
      })
    })

    test('lists name the router models, regional hosts do not', async () => {
      const list = async (path: string, headers: Record<string, string> = {}) => {
        const { body } = await server().call('GET', path, { key: server().own.inferenceKey, headers })
        return body.data.filter(({ id }: { id: string }) => id.startsWith('service/'))
      }
      const routers = await list('/models')
      expect(routers.map(({ id }: { id: string }) => id)).toEqual([
        'service/auto',
        'service/pareto-code',
        'service/free',
        'service/switchyard',
        'service/fusion',
        'service/fusion-flash',
        'service/bodybuilder',
      ])
      expect(routers[0]).toMatchObject({
        name: 'Auto Router',
        pricing: { prompt: '-1', completion: '-1' },
        architecture: { tokenizer: 'Router', output_modalities: ['text'] },
      })
      expect(routers[0].context_length).toBeGreaterThanOrEqual(128_000)
      expect(await list('/models/user')).toEqual(routers)
      expect(await list('/models', { host: 'eu.example.com' })).toEqual([])
      expect(await list('/models?output_modalities=embeddings')).toEqual([])
      const one = await server().call('GET', '/model/service/auto:nitro')
      expect(one.body.data.id).toBe('service/auto')
      const endpoints = await server().call('GET', '/models/service/auto/endpoints')
      expect(endpoints.body.data).toMatchObject({ id: 'service/auto', endpoints: [] })
    })
  },
  { settings },
)

describeRouting('the choice of a router model', (routed) => {
  const auto = (provider: object = {}) => ({
    model: 'service/auto',
    plugins: [{ id: 'auto-router', allowed_models: ['test/line-*', 'test/blind'] }],
    provider,
  })
  const tried = async (body: Record<string, unknown>) => {
    const { attempts, status } = await collectAttempts(routed(), body)
    return [status, attempts.map(({ endpoint }) => endpoint)]
  }

  test('falls back to the next models, and then to those that the request lists', async () => {
    expect(await tried(auto())).toEqual([502, ['blind alpha', 'line-2 beta', 'line-1 alpha']])
    const listed = await tried({ ...auto(), models: ['test/eyes'] })
    expect(listed).toEqual([502, ['blind alpha', 'line-2 beta', 'line-1 alpha', 'eyes beta']])
    expect(await tried(auto({ allow_fallbacks: false }))).toEqual([502, ['blind alpha']])
  })

  test('the provider does not see the model that pin_model keeps', async () => {
    const plugins = [{ id: 'auto-router', allowed_models: ['test/*'], pin_model: true }]
    const messages = [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hello', model: 'test/line-2' },
      { role: 'user', content: 'Hello again' },
    ]
    const { body } = await sendRouted(routed(), { model: 'service/auto', plugins, messages })
    expect(body.model).toBe('test/line-2')
    expect(routed().upstream.requests[0]?.json.messages[1]).toEqual({ role: 'assistant', content: 'Hello' })
  })

  test('avoids a model that failed, and one that is cooling down', async () => {
    const { server } = routed()
    const { health } = server.gateway.routing
    const now = server.clock.now()
    health.getOrCreate('test/blind alpha').recordFailure(now, { kind: 'server' })
    health
      .getOrCreate('test/line-1 alpha')
      .recordFailure(now, { kind: 'rate_limit_exceeded', retryAfterMs: 60_000 })
    const { body } = await sendRouted(routed(), auto())
    expect(body.model).toBe('test/line-2')
  })
})

describeOnEachDatabase('router models without any settings', (server) => {
  test('they choose among the models of the sandbox; service/switchyard says what is missing', async () => {
    const auto = await sendTo(server(), '/v1/chat/completions', {
      model: 'service/auto',
      ...formats.chat.body,
    })
    expect((await auto.json()) as object).toMatchObject({ model: expect.stringMatching(/^sandbox\//) })
    const send = (body: object) => sendTo(server(), '/v1/chat/completions', { ...formats.chat.body, ...body })
    const missing = await send({ model: 'service/switchyard' })
    expect([missing.status, await missing.text()]).toEqual([
      400,
      expect.stringContaining('routers.switchyard'),
    ])
    const models = ['sandbox/echo', 'sandbox/reasoner']
    const unjudged = await send({ model: 'service/switchyard', models })
    expect([unjudged.status, await unjudged.text()]).toEqual([
      400,
      expect.stringContaining('routers.switchyard.judge'),
    ])
  })
})

function sendTo(
  { url, own }: TestServer,
  path: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${own.inferenceKey}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}
