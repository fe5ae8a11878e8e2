import { beforeEach, describe, expect, test } from 'bun:test'
import { wireFormats } from '../../src/formats/all.ts'
import { collectReply } from '../../src/formats/call/event.ts'
import type { GenerateWireFormat } from '../../src/formats/vocabulary.ts'
import { reloadGateway } from '../../src/main.ts'
import { sha256 } from '../../src/platform/crypto/crypto.ts'
import { newId } from '../../src/platform/crypto/ids.ts'
import type { JsonObject } from '../../src/platform/json/json-values.ts'
import { grammarChecks } from '../formats/conformance/grammar.ts'
import { decodeFrames, parseFrames } from '../formats/conformance/round-trip.ts'
import { createTenant } from '../support/harness.ts'
import { requestHolds } from '../support/holds.ts'
import { type ScenarioName, textWireFormats, vendorReply } from '../support/replies.ts'
import { recordSpend } from '../support/spend.ts'
import {
  type Bench,
  clearGenerations,
  describeWithUpstreams,
  listGenerations,
  readJson,
} from './two-upstreams.ts'

const userMessage = { role: 'user', content: 'Hello' }
const tool = { name: 'get_weather', description: 'Weather', parameters: { type: 'object', properties: {} } }

/** Every format of a client, with its path and the id of its reply. */
const clients: Record<string, (model: string, stream: boolean) => { path: string; body: JsonObject }> = {
  chat: (model, stream) => ({
    path: '/v1/chat/completions',
    body: { model, stream, messages: [userMessage], tools: [{ type: 'function', function: tool }] },
  }),
  messages: (model, stream) => ({
    path: '/v1/messages',
    body: {
      model,
      stream,
      max_tokens: 500,
      messages: [userMessage],
      tools: [{ name: tool.name, input_schema: tool.parameters }],
    },
  }),
  responses: (model, stream) => ({
    path: '/v1/responses',
    body: { model, stream, input: 'Hello', tools: [{ type: 'function', ...tool }] },
  }),
  gemini: (model, stream) => ({
    path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: {
      contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
      tools: [{ functionDeclarations: [tool] }],
    },
  }),
  completions: (model, stream) => ({ path: '/v1/completions', body: { model, stream, prompt: 'Hello' } }),
  mixed: (model, stream) => ({ path: '/v1/chat/completions', body: { model, stream, input: 'Hello' } }),
}

const on = { 'x-service-cache': 'true' }

function send(
  { server }: Bench,
  path: string,
  body: unknown,
  headers: Record<string, string> = on,
  key = server.own.inferenceKey,
): Promise<Response> {
  return fetch(server.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

const statusOf = (response: Response) => response.headers.get('x-service-cache-status')

/** Masks fields that differ between requests. */
function comparable(text: string): string {
  return text
    .replaceAll(/(gen-|resp_|msg_|fc_|rs_|call_)[0-9a-f]{12,}/g, '$1')
    .replaceAll(/"(created|created_at|completed_at)":\d+/g, '"$1":0')
}

describeWithUpstreams(
  'R36 the response cache',
  (bench) => {
    const { server } = { server: () => bench().server }
    const chat = (changes: JsonObject = {}, headers?: Record<string, string>, key?: string) =>
      send(
        bench(),
        '/v1/chat/completions',
        { model: 'test/chat', messages: [userMessage], ...changes },
        headers,
        key,
      )
    const statusFor = async (...args: Parameters<typeof chat>) => {
      const response = await chat(...args)
      await response.text()
      return statusOf(response)
    }
    const request = () => bench().first.requests.length

    beforeEach(async () => {
      await clearGenerations(bench())
      server().gateway.responseCache.clear()
    })

    for (const [name, client] of Object.entries(clients)) {
      for (const stream of [false, true]) {
        for (const upstream of textWireFormats) {
          test(`R36 ${name} over ${upstream}, ${stream ? 'streamed' : 'whole'}: the same again, free of charge`, async () => {
            for (const scenario of ['text', 'reasoningToolCall', 'toolCalls'] as ScenarioName[]) {
              const { frames, body } = vendorReply(upstream, scenario)
              bench().first.enqueue(stream ? { sse: frames } : { json: body })
              const { path, body: template } = client(`test/${upstream}`, stream)
              const clientBody = { ...template, temperature: undefined, user: scenario }
              const first = await send(bench(), path, clientBody)
              const firstText = await first.text()
              expect({ scenario, status: first.status, cache: statusOf(first) }).toEqual({
                scenario,
                status: 200,
                cache: 'MISS',
              })
              const before = request()
              const second = await send(bench(), path, clientBody)
              const text = await second.text()
              expect(statusOf(second)).toBe('HIT')
              expect(request()).toBe(before)
              const [source, id] = [first, second].map((response) => response.headers.get('x-generation-id'))
              expect(second.headers.get('x-service-cache-source-id')).toBe(source ?? '')
              expect(id).not.toBe(source)
              expect(second.headers.get('content-type')).toBe(first.headers.get('content-type'))
              expect(text).not.toContain((source ?? '').slice(4))
              expectSameContent(name, stream, comparable(firstText), comparable(text))
              expectFree(stream, text)
            }
          })
        }
      }
    }

    test('R36 a hit has its own record, costs nothing and counts in no limit', async () => {
      const usage = async () => {
        server().clock.advance(2000)
        return (await server().call('GET', '/key', { key: server().own.inferenceKey })).body.data.usage
      }
      const first = await chat()
      const cost = (await readJson(first)).usage.cost
      expect(cost).toBeGreaterThan(0)
      const spent = await usage()
      const second = await chat()
      expect((await readJson(second)).usage).toMatchObject({
        prompt_tokens: 0,
        completion_tokens: 0,
        cost: 0,
      })
      expect(await usage()).toBe(spent)
      const rows = await listGenerations(bench())
      expect(rows.map((row) => [row.cost_nanos > 0n, row.response_cache_source_id !== null])).toEqual([
        [true, false],
        [false, true],
      ])
      const id = second.headers.get('x-generation-id') ?? ''
      const { data } = (await server().call('GET', `/generation?id=${id}`)).body
      expect(data).toMatchObject({
        response_cache_source_id: first.headers.get('x-generation-id'),
        model: 'test/chat',
        provider_name: 'one-chat',
        provider_responses: [],
        usage: 0,
        tokens_prompt: 0,
        tokens_completion: 0,
        finish_reason: 'stop',
        cancelled: false,
      })
      expect(await requestHolds(server().gateway.db).selectAll().execute()).toEqual([])
    })

    test('R36 is off by default, and then sends no headers', async () => {
      for (const headers of [{}, { 'x-service-cache': 'false' }, { 'x-service-cache': 'perhaps' }]) {
        expect(await statusFor({}, headers)).toBeNull()
      }
      expect(request()).toBe(3)
      expect(server().gateway.responseCache.count).toBe(0)
    })

    test('R36 an entry expires after five minutes, or the time of the header, within bounds', async () => {
      const ttlFor = async (ttl: string | null, content: string) => {
        const headers = { ...on, ...(ttl !== null && { 'x-service-cache-ttl': ttl }) }
        const response = await chat({ messages: [{ role: 'user', content }] }, headers)
        return Number(response.headers.get('x-service-cache-ttl'))
      }
      expect(await ttlFor(null, 'a')).toBe(300)
      expect(await ttlFor(' 60s', 'b')).toBe(60)
      expect(await ttlFor('0', 'c')).toBe(1)
      expect(await ttlFor('-5', 'd')).toBe(1)
      expect(await ttlFor('999999', 'e')).toBe(86_400)
      expect(await ttlFor('soon', 'f')).toBe(300)
      server().clock.freeze('2031-05-05T12:00:00.000Z')
      try {
        expect(await ttlFor('60', 'g')).toBe(60)
        server().clock.advance(59_500)
        const hit = await chat({ messages: [{ role: 'user', content: 'g' }] })
        const { headers } = hit
        expect([
          statusOf(hit),
          headers.get('x-service-cache-age'),
          headers.get('x-service-cache-ttl'),
        ]).toEqual(['HIT', '59', '1'])
        server().clock.advance(500)
        expect(await statusFor({ messages: [{ role: 'user', content: 'g' }] })).toBe('MISS')
      } finally {
        server().clock.release()
      }
    })

    test('R36 clearing replaces one entry and leaves the others', async () => {
      const other = { messages: [{ role: 'user', content: 'Other' }] }
      for (const body of [{}, other]) expect(await statusFor(body)).toBe('MISS')
      const cleared = await chat({}, { ...on, 'x-service-cache-clear': 'true' })
      expect(statusOf(cleared)).toBe('MISS')
      const again = await chat()
      expect(again.headers.get('x-service-cache-source-id')).toBe(cleared.headers.get('x-generation-id'))
      expect(await statusFor(other)).toBe('HIT')
      expect(request()).toBe(3)
    })

    test('R36 S9 I9 two tenants, and two keys of one, never share an entry', async () => {
      const made = await server().call('POST', '/keys', { body: { name: 'another' } })
      expect(await statusFor()).toBe('MISS')
      expect(await statusFor({}, on, made.body.key)).toBe('MISS')
      await server().call('POST', '/credits', { body: { amount: 5 }, key: server().foreign.managementKey })
      const foreign = await chat({ model: 'test/gift:free' }, on)
      expect(statusOf(foreign)).toBe('MISS')
      expect(await statusFor({ model: 'test/gift:free' }, on, server().foreign.inferenceKey)).toBe('MISS')
      expect(await statusFor({ model: 'test/gift:free' }, on, server().foreign.inferenceKey)).toBe('HIT')
      const rows = await listGenerations(bench())
      const byId = new Map(rows.map((row) => [row.id, row]))
      for (const row of rows.filter(({ response_cache_source_id: id }) => id !== null)) {
        expect(byId.get(row.response_cache_source_id ?? '')?.key_id).toBe(row.key_id)
      }
    })

    test('R36 every byte of the body counts except white space between tokens', async () => {
      const text = (json: string) => send(bench(), '/v1/chat/completions', json).then(statusOf)
      const messages = '"messages":[{"role":"user","content":"a  b \\" c"}]'
      expect(await text(`{"model":"test/chat",${messages},"seed":1}`)).toBe('MISS')
      expect(await text(`{ "model" : "test/chat",\n\t${messages}, "seed":1 }`)).toBe('HIT')
      // Another order, another text, and a number that a parser would round to the same.
      expect(await text(`{"seed":1,"model":"test/chat",${messages}}`)).toBe('MISS')
      expect(await text(`{"model":"test/chat",${messages.replace('  ', ' ')},"seed":1}`)).toBe('MISS')
      expect(await text(`{"model":"test/chat",${messages},"wibble":12345678901234567890}`)).toBe('MISS')
      expect(await text(`{"model":"test/chat",${messages},"wibble":12345678901234567891}`)).toBe('MISS')
    })

    test('R36 streams and whole replies are separate, and so are formats', async () => {
      expect(await statusFor()).toBe('MISS')
      expect(await statusFor({ stream: true })).toBe('MISS')
      const body = { model: 'test/chat', max_tokens: 5, messages: [userMessage] }
      expect(statusOf(await send(bench(), '/v1/chat/completions', body))).toBe('MISS')
      expect(statusOf(await send(bench(), '/v1/messages', body))).toBe('MISS')
    })

    test('R36 headers for the provider, and strict mode, count', async () => {
      const body = { model: 'test/messages', max_tokens: 5, messages: [userMessage] }
      const beta = (name: string) =>
        send(bench(), '/v1/messages', body, { ...on, 'anthropic-beta': name }).then(statusOf)
      expect([await beta('a'), await beta('b'), await beta('a')]).toEqual(['MISS', 'MISS', 'HIT'])
      const lossy = { model: 'test/messages', logit_bias: { '1': 2 } }
      expect(await statusFor(lossy)).toBe('MISS')
      const hit = await chat(lossy)
      expect([statusOf(hit), hit.headers.get('x-headgate-dropped')]).toEqual(['HIT', 'logit_bias'])
      const strict = await chat(lossy, { ...on, 'x-headgate-strict': 'true' })
      expect(strict.status).toBe(400)
    })

    test('R36 errors, truncated streams and abandoned replies are not cached', async () => {
      bench().first.enqueue({ status: 400, json: { error: { message: 'no' } } })
      expect((await chat()).status).toBe(400)
      const { frames } = vendorReply('chat', 'text')
      bench().first.enqueue({ sse: frames, breakAfterBytes: Math.floor(frames.join('').length / 2) })
      await (await chat({ stream: true })).text()
      expect(server().gateway.responseCache.count).toBe(0)
      bench().first.enqueue({ sse: frames, delayMs: 40 })
      const leaving = new AbortController()
      const left = await fetch(`${server().url}/v1/chat/completions`, {
        method: 'POST',
        signal: leaving.signal,
        headers: { authorization: `Bearer ${server().own.inferenceKey}`, ...on },
        body: JSON.stringify({ model: 'test/chat', stream: true, messages: [userMessage] }),
      })
      await left.body?.getReader().read()
      leaving.abort()
      await bench().first.requests.at(-1)?.done
      expect(server().gateway.responseCache.count).toBe(0)
      expect(await statusFor({ stream: true })).toBe('MISS')
    })

    test('R36 a failed attempt leaves nothing in the entry of the next', async () => {
      const { frames } = vendorReply('chat', 'text')
      bench().first.enqueue({ sse: frames.slice(0, 1), breakAfterBytes: 40 })
      const body = { model: 'test/both-chat', stream: true }
      const first = await (await chat(body)).text()
      const again = await chat(body)
      expect(statusOf(again)).toBe('HIT')
      expectSameContent('chat', true, comparable(first), comparable(await again.text()))
    })

    describe('with a preset', () => {
      const preset = async (slug: string, fields: JsonObject) => {
        const body = { model: 'test/chat', messages: [userMessage], ...fields }
        const made = await server().call('POST', `/presets/${slug}/chat/completions`, { body })
        expect(made.status).toBeLessThan(300)
      }
      const sendWithPreset = (slug: string, headers: Record<string, string>, changes: JsonObject = {}) =>
        chat({ model: `@preset/${slug}`, ...changes }, headers)

      test('R36 a preset that forbids it overrides every header, and the body', async () => {
        await preset('never', { cache_enabled: false })
        const response = await sendWithPreset('never', on, { cache_enabled: true })
        expect([response.status, statusOf(response)]).toEqual([200, null])
      })

      test('R36 a preset that enables it needs no header, and a header can opt out', async () => {
        await preset('always', { cache_enabled: true, cache_ttl_seconds: 42 })
        const first = await sendWithPreset('always', {})
        expect([statusOf(first), first.headers.get('x-service-cache-ttl')]).toEqual(['MISS', '42'])
        expect(statusOf(await sendWithPreset('always', {}))).toBe('HIT')
        expect(statusOf(await sendWithPreset('always', { 'x-service-cache': 'false' }))).toBeNull()
        const longer = { 'x-service-cache-ttl': '99', 'x-service-cache-clear': 'true' }
        expect((await sendWithPreset('always', longer)).headers.get('x-service-cache-ttl')).toBe('99')
        expect(JSON.stringify(bench().first.requests.map(({ json }) => json))).not.toContain('cache_')
      })

      test('R36 a preset without the field leaves it to the header; a new version has new entries', async () => {
        await preset('silent', { temperature: 0.5 })
        expect(statusOf(await sendWithPreset('silent', {}))).toBeNull()
        expect(statusOf(await sendWithPreset('silent', on))).toBe('MISS')
        expect(statusOf(await sendWithPreset('silent', on))).toBe('HIT')
        await preset('silent', { temperature: 0.7 })
        expect(statusOf(await sendWithPreset('silent', on))).toBe('MISS')
      })

      test('R36 without a preset its fields have no effect', async () => {
        expect(await statusFor({ cache_enabled: true }, {})).toBeNull()
        expect(await statusFor({ cache_enabled: false }, on)).toBe('MISS')
      })

      test('R36 applies to the Gemini format too', async () => {
        await preset('gem', { model: 'test/gemini', cache_enabled: true })
        const sendWithPreset = () =>
          send(
            bench(),
            '/v1beta/models/@preset%2Fgem:generateContent',
            { contents: [{ parts: [{ text: 'Hi' }] }] },
            {},
          )
        const [first, second] = [await sendWithPreset(), await sendWithPreset()]
        expect([first.status, statusOf(first), statusOf(second)]).toEqual([200, 'MISS', 'HIT'])
        expect(bench().first.requests.at(-1)?.text).not.toContain('cache_')
      })
    })

    describe('and permissions', () => {
      const guard = async (fields: JsonObject) => {
        const made = await server().call('POST', '/guardrails', { body: { name: newId('guard'), ...fields } })
        const { id } = made.body.data
        const { body } = await server().call('POST', '/keys', { body: { name: 'guarded' } })
        await server().call('POST', `/guardrails/${id}/assignments/keys`, {
          body: { key_hashes: [body.data.hash] },
        })
        return { id, key: body.key as string }
      }

      test('R36 a changed guardrail applies: what it forbids is rejected, the rest is a miss', async () => {
        const { id, key } = await guard({ allowed_models: ['test/chat', 'test/messages'] })
        expect(await statusFor({}, on, key)).toBe('MISS')
        expect(await statusFor({}, on, key)).toBe('HIT')
        await server().call('PATCH', `/guardrails/${id}`, { body: { ignored_providers: ['two-chat'] } })
        expect(await statusFor({}, on, key)).toBe('MISS')
        await server().call('PATCH', `/guardrails/${id}`, { body: { allowed_models: ['test/messages'] } })
        const rejected = await chat({}, on, key)
        expect([rejected.status, statusOf(rejected)]).toEqual([403, null])
      })

      test('R36 is off where retention is forbidden, for the account or for the request', async () => {
        const { key } = await guard({ enforce_zdr_vendor_b: true })
        for (let time = 0; time < 2; time++) expect(await statusFor({}, on, key)).toBeNull()
        const zdr = { model: 'test/both-chat', provider: { zdr: true } }
        for (let time = 0; time < 2; time++) expect(await statusFor(zdr)).toBeNull()
        expect(server().gateway.responseCache.count).toBe(0)
      })

      test('R36 a deleted key, and one without permission, get nothing', async () => {
        const { body } = await server().call('POST', '/keys', { body: { name: 'short-lived' } })
        expect(await statusFor({}, on, body.key)).toBe('MISS')
        await server().call('DELETE', `/keys/${body.data.hash}`)
        expect((await chat({}, on, body.key)).status).toBe(401)
        expect((await chat({}, on, server().own.managementKey)).status).toBe(403)
      })

      test('R36 a reached limit does not stop a hit', async () => {
        const { body } = await server().call('POST', '/keys', { body: { name: 'a cent', limit: 0.01 } })
        const cent = { model: 'test/cent' }
        expect(await statusFor(cent, on, body.key)).toBe('MISS')
        expect((await chat({ ...cent, seed: 1 }, on, body.key)).status).toBe(402)
        expect(await statusFor(cent, on, body.key)).toBe('HIT')
      })

      test('R36 an account with a negative balance is rejected even for a hit', async () => {
        const tenant = await createTenant(server().gateway, 'Debtor')
        const gift = { model: 'test/gift:free' }
        expect(await statusFor(gift, on, tenant.inferenceKey)).toBe('MISS')
        const key = await server()
          .gateway.db.selectFrom('api_keys')
          .select(['id', 'organization_id', 'workspace_id'])
          .where('hash', '=', sha256(tenant.inferenceKey))
          .executeTakeFirstOrThrow()
        await recordSpend(server().gateway, key, new Date(server().clock.now()).toISOString().slice(0, 10), {
          credits: 1,
        })
        expect((await chat(gift, on, tenant.inferenceKey)).status).toBe(402)
      })

      test('R36 a hit counts in the requests per minute', async () => {
        const { gateway, clock } = server()
        const { settings } = gateway
        const { body } = await server().call('POST', '/keys', { body: { name: 'eager' } })
        gateway.settings = { ...settings, limits: { ...settings.limits, requests_per_minute: 2 } }
        clock.freeze('2031-05-06T12:00:00.000Z')
        try {
          expect([await statusFor({}, on, body.key), await statusFor({}, on, body.key)]).toEqual([
            'MISS',
            'HIT',
          ])
          expect((await chat({}, on, body.key)).status).toBe(429)
        } finally {
          clock.release()
          gateway.settings = settings
        }
      })

      test('R36 a hit does not count in the requests of a free variant', async () => {
        const gift = { model: 'test/gift:free', messages: [{ role: 'user', content: 'Count' }] }
        expect(await statusFor(gift)).toBe('MISS')
        for (let time = 0; time < 25; time++) expect(await statusFor(gift)).toBe('HIT')
      })
    })

    describe('of stored responses', () => {
      const respond = (changes: JsonObject) =>
        send(bench(), '/v1/responses', { model: 'test/chat', input: 'Remember', ...changes })
      const call = (method: string, path: string) =>
        server().call(method, path, { key: server().own.inferenceKey })

      for (const stream of [false, true]) {
        test(`R36 ${stream ? 'streamed' : 'whole'}: a hit is stored under its own id, and can be continued`, async () => {
          const idOf = async (response: Response) =>
            /"id":"(resp_\w+)"/.exec(await response.text())?.[1] ?? 'none'
          const input = `Remember ${stream}`
          const first = await idOf(await respond({ stream, input }))
          const hit = await respond({ stream, input })
          expect(statusOf(hit)).toBe('HIT')
          const second = await idOf(hit)
          expect(second).not.toBe(first)
          const [one, two] = [
            await call('GET', `/responses/${first}`),
            await call('GET', `/responses/${second}`),
          ]
          expect(two.body.output[0].content).toEqual(one.body.output[0].content)
          expect(two.body.usage).toMatchObject({ input_tokens: 0, output_tokens: 0, cost: 0 })
          await call('DELETE', `/responses/${first}`)
          const next = await respond({ input: 'And?', previous_response_id: second })
          expect(next.status).toBe(200)
          expect(bench().first.requests.at(-1)?.text).toContain(input)
        })
      }

      test('R36 a request that continues a deleted response is not served', async () => {
        const { id } = await readJson(respond({ input: 'Begin' }))
        const next = { input: 'Go on', previous_response_id: id }
        expect(statusOf(await respond(next))).toBe('MISS')
        expect(statusOf(await respond(next))).toBe('HIT')
        await call('DELETE', `/responses/${id}`)
        expect((await respond(next)).status).toBe(404)
      })
    })

    test('R36 content logging includes hits', async () => {
      const { id } = server().own.workspace
      const log = (is_observability_io_logging_enabled: boolean) =>
        server().call('PATCH', `/workspaces/${id}`, {
          body: { is_observability_io_logging_enabled, io_logging_sampling_rate: 1 },
        })
      await log(true)
      try {
        await statusFor()
        const hit = await chat()
        const path = `/generation/content?id=${hit.headers.get('x-generation-id')}`
        const { data } = (await server().call('GET', path)).body
        expect(statusOf(hit)).toBe('HIT')
        expect(data.output.completion).toBe((await readJson(hit)).choices[0].message.content)
      } finally {
        await log(false)
      }
    })

    test('R36 I10 is bounded: old entries are evicted, long ones are not stored, expired ones are dropped', async () => {
      const { responseCache, clock, settings } = server().gateway
      for (let index = 0; index < 40; index++) {
        await statusFor({ messages: [{ role: 'user', content: `Number ${index}` }] })
      }
      expect(responseCache.size).toBeLessThanOrEqual(settings.response_cache.bytes)
      expect(responseCache.count).toBeGreaterThan(2)
      expect(await statusFor({ messages: [{ role: 'user', content: 'Number 39' }] })).toBe('HIT')
      expect(await statusFor({ messages: [{ role: 'user', content: 'Number 0' }] })).toBe('MISS')
      const { frames, body } = vendorReply('chat', 'text')
      const long = 'x'.repeat(settings.response_cache.entry_bytes)
      const choice = { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: long } }
      const extraChunk = {
        id: 'c',
        object: 'chat.completion.chunk',
        choices: [{ index: 0, delta: { content: long } }],
      }
      for (const stream of [false, true]) {
        const count = responseCache.count
        bench().first.enqueue(
          stream
            ? { sse: [frames[0] ?? '', `data: ${JSON.stringify(extraChunk)}\n\n`, ...frames.slice(1)] }
            : { json: { ...body, choices: [choice] } },
        )
        expect(await statusFor({ stream, messages: [{ role: 'user', content: 'Long' }] })).toBe('MISS')
        expect(responseCache.count).toBe(count)
      }
      responseCache.evictExpired(clock.now() + 86_400_000)
      expect([responseCache.size, responseCache.count]).toEqual([0, 0])
    })

    test('R36 hits, misses and bytes are in the metrics, and a browser may read the headers', async () => {
      const metric = async (name: string) => {
        const { body } = await server().gateway.metrics.render()
        return Number(
          body
            .split('\n')
            .find((line) => line.startsWith(`${name} `))
            ?.split(' ')[1] ?? 0,
        )
      }
      const hits = 'headgate_response_cache_requests_total{status="hit"}'
      const misses = 'headgate_response_cache_requests_total{status="miss"}'
      const before = [await metric(hits), await metric(misses)]
      await statusFor()
      const hit = await chat({}, { ...on, origin: 'https://app.example.com' })
      expect([await metric(hits), await metric(misses)]).toEqual(before.map((count) => count + 1))
      expect(await metric('headgate_response_cache_bytes')).toBe(server().gateway.responseCache.size)
      expect(hit.headers.get('access-control-expose-headers')).toContain('x-service-cache-status')
    })

    test('R36 is emptied by a reload: the data policy of a provider may have changed', async () => {
      await statusFor()
      await reloadGateway(server().gateway)
      expect(await statusFor()).toBe('MISS')
    })

    test('R36 can be switched off for the installation', async () => {
      const { settings } = server().gateway
      server().gateway.settings = {
        ...settings,
        response_cache: { ...settings.response_cache, enabled: false },
      }
      try {
        for (let time = 0; time < 2; time++) expect(await statusFor()).toBeNull()
      } finally {
        server().gateway.settings = settings
      }
    })
  },
  'response_cache: { bytes: 40000, entry_bytes: 8000 }',
)

/** The hit has the content of the first reply, and is valid in its format. */
function expectSameContent(format: string, stream: boolean, first: string, second: string): void {
  if (format === 'completions') {
    expect(completionOf(stream, second)).toEqual(completionOf(stream, first))
    return
  }
  const wireFormat = format === 'mixed' ? 'chat' : (format as GenerateWireFormat)
  if (stream) grammarChecks[wireFormat](parseFrames(second))
  expect(choicesOf(wireFormat, stream, second)).toEqual(choicesOf(wireFormat, stream, first))
}

/** Decodes only the choices: in passthrough, the first reply has vendor fields that the hit lacks. */
function choicesOf(wireFormat: GenerateWireFormat, stream: boolean, text: string): unknown {
  const events = stream
    ? decodeFrames(wireFormat, parseFrames(text))
    : wireFormats[wireFormat].upstream.decodeReply(JSON.parse(text))
  return collectReply(events).choices
}

/** A format of clients only: it has no reader. */
function completionOf(stream: boolean, text: string): unknown {
  if (!stream) return { ...JSON.parse(text), usage: null }
  const chunks = parseFrames(text).flatMap(({ data }) => (data === '[DONE]' ? [] : JSON.parse(data).choices))
  const joined = (name: string) => chunks.map((choice) => choice[name] ?? '').join('')
  return [joined('text'), joined('reasoning'), joined('finish_reason')]
}

/** All token counts and costs of the reply are zero. */
function expectFree(stream: boolean, text: string): void {
  const bodies = stream
    ? parseFrames(text).flatMap(({ data }) => (data === '[DONE]' ? [] : [JSON.parse(data)]))
    : [JSON.parse(text)]
  const found: number[] = []
  const visit = (value: unknown, inside: boolean): void => {
    if (typeof value === 'number' && inside) found.push(value)
    if (typeof value !== 'object' || value === null) return
    for (const [name, inner] of Object.entries(value)) {
      visit(inner, inside || name === 'usage' || name === 'usageMetadata')
    }
  }
  for (const body of bodies) visit(body, false)
  expect(found.length).toBeGreaterThan(2)
  expect(found.every((count) => count === 0)).toBe(true)
}
