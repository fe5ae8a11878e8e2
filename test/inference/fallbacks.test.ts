import { beforeEach, describe, expect, test } from 'bun:test'
import { requestHolds } from '../support/holds.ts'
import { vendorReply } from '../support/replies.ts'
import {
  type Bench,
  clearGenerations,
  describeWithUpstreamsOnSqlite,
  listGenerations,
  readJson,
  sendRequest,
  waitForGenerations,
} from './two-upstreams.ts'

/** Each model at a provider of its own; the later ones are on the second upstream. */
function buildSettings(first: string, second: string): string {
  const model = (id: string, request: string, more = '') => `  - id: test/${id}
    name: ${id}
${more}    endpoints: [{ provider: ${id}, upstream_model: ${id}, pricing: { prompt: "0", completion: "0", request: "${request}" } }]`
  const provider = (slug: string, url: string) =>
    `  - { slug: ${slug}, name: ${slug}, base_url: "${url}", dialects: [chat, messages], api_key: secret }`
  const declared = '    fallbacks: { error: [test/large], budget: [test/small] }\n'
  return `providers:
${provider('main', first)}
${provider('declared', first)}
${provider('large', second)}
${provider('small', second)}
models:
${model('main', '0.02')}
${model('declared', '0.02', declared)}
${model('large', '0.05')}
${model('small', '0.001')}`
}

const failure = (status: number, error: object) => ({ status, json: { error } })
const failures = {
  context_length: failure(400, {
    message: 'maximum context length is 8192 tokens',
    code: 'context_length_exceeded',
  }),
  content_policy: failure(400, { message: 'flagged', code: 'content_policy_violation' }),
  rate_limit: failure(429, { message: 'slow down', type: 'rate_limit_error' }),
  error: failure(500, { message: 'broken', type: 'server_error' }),
}
const metadata = { headers: { 'x-service-metadata': 'enabled' } }

/** The text of a key that may spend so many dollars. */
async function limitedKey({ server }: Bench, limit: number): Promise<string> {
  const made = await server.call('POST', '/keys', { body: { name: 'limited', limit } })
  return made.body.key
}

describeWithUpstreamsOnSqlite(
  'fallbacks by reason',
  (bench) => {
    beforeEach(() => clearGenerations(bench()))

    for (const [reason, response] of Object.entries(failures)) {
      test(`${reason} leads to its own list, and to no other`, async () => {
        bench().first.enqueue(response)
        const others = Object.keys(failures).filter((other) => other !== reason)
        const fallbacks = {
          ...Object.fromEntries(others.map((other) => [other, ['test/small']])),
          [reason]: ['test/large'],
        }
        const reply = await readJson(
          sendRequest(bench(), 'chat', { model: 'test/main', fallbacks }, metadata),
        )
        expect(reply.model).toBe('test/large')
        expect(reply.service_metadata).toMatchObject({
          strategy: 'fallback',
          fallbacks: [{ reason, from: 'test/main', to: 'test/large' }],
        })
        const [row] = await waitForGenerations(bench(), 1)
        // The worst case of the fallback is more than what was held first.
        expect(row).toMatchObject({ model: 'test/large', cost_nanos: 50_000_000n, hold_nanos: 50_000_000n })
        expect(JSON.parse(row?.attempts ?? '')).toMatchObject([{ model: 'test/main', fallback: reason }])
        expect(await requestHolds(bench().server.gateway.db).selectAll().execute()).toEqual([])
      })
    }

    test('an error of another kind leads nowhere', async () => {
      bench().first.enqueue(failure(422, { message: 'wrong' }))
      const fallbacks = { error: ['test/large'], context_length: ['test/large'] }
      const response = await sendRequest(bench(), 'chat', { model: 'test/main', fallbacks })
      expect(response.status).toBe(422)
      expect(bench().second.requests).toHaveLength(0)
    })

    test.each([true, false])('a refusal without content is one by policy (streamed: %p)', async (stream) => {
      const refused = {
        id: 'c',
        object: stream ? 'chat.completion.chunk' : 'chat.completion',
        model: 'main',
        choices: [
          {
            index: 0,
            finish_reason: 'content_filter',
            [stream ? 'delta' : 'message']: { role: 'assistant', content: '' },
          },
        ],
        usage: { prompt_tokens: 5, completion_tokens: 0, total_tokens: 5 },
      }
      const response = stream
        ? { sse: [`data: ${JSON.stringify(refused)}\n\n`, 'data: [DONE]\n\n'] }
        : { json: refused }
      bench().first.enqueue(response, response)
      const send = (fallbacks: object) =>
        sendRequest(bench(), 'chat', { model: 'test/main', stream, fallbacks })
      expect(await (await send({ content_policy: ['test/large'] })).text()).toContain('test/large')
      // Without such a list it is the reply.
      expect(await (await send({ error: ['test/large'] })).text()).toContain('content_filter')
      expect(bench().second.requests).toHaveLength(1)
    })

    test('the models of a list are tried in order, each once', async () => {
      bench().first.enqueue(failures.error)
      bench().second.enqueue(failures.error, failures.error)
      const fallbacks = { error: ['test/large', 'test/main', 'test/small'] }
      expect((await sendRequest(bench(), 'chat', { model: 'test/main', fallbacks })).status).toBe(502)
      expect(bench().second.requests.map(({ json }) => json.model)).toEqual(['large', 'small'])
      const [row] = await waitForGenerations(bench(), 1)
      expect(row).toMatchObject({ status: 'failed', cost_nanos: 0n })
      expect(await requestHolds(bench().server.gateway.db).selectAll().execute()).toEqual([])
    })

    test('models for any reason come first', async () => {
      bench().first.enqueue(failures.error)
      const body = { model: 'test/main', models: ['test/small'], fallbacks: { error: ['test/large'] } }
      expect((await readJson(sendRequest(bench(), 'chat', body))).model).toBe('test/small')
    })

    test('a model has those that are declared for it, and a plain request too', async () => {
      bench().first.enqueue(failures.error)
      expect((await readJson(sendRequest(bench(), 'chat', { model: 'test/declared' }))).model).toBe(
        'test/large',
      )
      bench().first.enqueue(failures.rate_limit)
      expect((await sendRequest(bench(), 'chat', { model: 'test/declared' })).status).toBe(429)
    })

    test('all providers in a cooldown are a rate limit', async () => {
      bench().first.enqueue({ ...failures.rate_limit, headers: { 'retry-after': '60' } })
      const body = { model: 'test/main', fallbacks: { rate_limit: ['test/small'] } }
      await sendRequest(bench(), 'chat', body)
      expect((await readJson(sendRequest(bench(), 'chat', body))).model).toBe('test/small')
      expect(bench().first.requests).toHaveLength(1)
    })

    describe('with a limit of the key', () => {
      test('that the first model exceeds, the list for the budget serves', async () => {
        const key = await limitedKey(bench(), 0.01)
        const send = (body: object) =>
          sendRequest(bench(), 'chat', { model: 'test/main', ...body }, { key, ...metadata })
        expect((await send({})).status).toBe(402)
        const reply = await readJson(send({ fallbacks: { budget: ['test/large', 'test/small'] } }))
        expect(reply.model).toBe('test/small')
        expect(reply.service_metadata.fallbacks.at(-1)).toEqual({
          reason: 'budget',
          from: 'test/main',
          to: 'test/small',
        })
        expect(reply.service_metadata.endpoints.excluded[0]).toMatchObject({
          model: 'test/main',
          reason: 'budget',
        })
        expect(
          (await readJson(sendRequest(bench(), 'chat', { model: 'test/declared' }, { key }))).model,
        ).toBe('test/small')
      })

      test('a fallback that it does not allow is not sent', async () => {
        const key = await limitedKey(bench(), 0.03)
        bench().first.enqueue(failures.error)
        const body = { model: 'test/main', fallbacks: { error: ['test/large'] } }
        expect((await sendRequest(bench(), 'chat', body, { key })).status).toBe(502)
        expect(bench().second.requests).toHaveLength(0)
      })
    })

    test('an unknown model, a router model and another reason are rejected', async () => {
      for (const fallbacks of [
        { error: ['test/unknown'] },
        { error: ['service/auto'] },
        { sometimes: ['test/large'] },
        { error: [] },
      ]) {
        const response = await sendRequest(bench(), 'chat', { model: 'test/main', fallbacks })
        expect(response.status).toBeGreaterThanOrEqual(400)
        expect((await readJson(response)).error.param).toStartWith('fallbacks')
      }
    })

    test('other formats have them too', async () => {
      const { frames } = vendorReply('messages', 'text')
      bench().first.enqueue({
        status: 529,
        json: { type: 'error', error: { type: 'overloaded_error', message: 'x' } },
      })
      bench().second.enqueue({ sse: frames })
      const body = { model: 'test/main', stream: true, fallbacks: { error: ['test/small'] } }
      const text = await (await sendRequest(bench(), 'messages', body)).text()
      expect(text).toContain('test/small')
      expect(await listGenerations(bench())).toHaveLength(1)
    })
  },
  buildSettings,
)
