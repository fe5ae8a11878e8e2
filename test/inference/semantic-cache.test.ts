import { beforeEach, describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../src/platform/json/json-values.ts'
import { requestHolds } from '../support/holds.ts'
import { textWireFormats, vendorReply } from '../support/replies.ts'
import {
  ask,
  buildSemanticSettings,
  clearCaches,
  listEntries,
  on,
  question,
  type SentChat,
  similar,
  statusOf,
  waitForEntries,
} from './semantic-cache-scene.ts'
import { clearGenerations, describeWithUpstreams, listGenerations, readJson } from './two-upstreams.ts'

/** A request of each format whose last text is the one given. */
const clients: Record<string, (text: string, stream: boolean) => { path: string; body: JsonObject }> = {
  chat: (text, stream) => ({
    path: '/v1/chat/completions',
    body: { model: 'test/chat', stream, messages: [{ role: 'user', content: text }] },
  }),
  messages: (text, stream) => ({
    path: '/v1/messages',
    body: {
      model: 'test/messages',
      stream,
      max_tokens: 500,
      messages: [{ role: 'user', content: [{ type: 'text', text }] }],
    },
  }),
  responses: (text, stream) => ({
    path: '/v1/responses',
    body: { model: 'test/responses', stream, input: text },
  }),
  gemini: (text, stream) => ({
    path: `/v1beta/models/test/gemini:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: { contents: [{ role: 'user', parts: [{ text }] }] },
  }),
  completions: (text, stream) => ({
    path: '/v1/completions',
    body: { model: 'test/chat', stream, prompt: text },
  }),
}

const tool = { type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } }
const user = (content: unknown) => ({ role: 'user', content })
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }

describeWithUpstreams(
  'the semantic cache',
  (bench) => {
    const server = () => bench().server
    const send = (content: unknown, options?: SentChat) => ask(bench(), content, options)
    const status = (content: unknown, options?: SentChat) => statusOf(send(content, options))
    const createKey = async (fields: JsonObject = {}): Promise<{ key: string; hash: string }> => {
      const { body } = await server().call('POST', '/keys', { body: { name: 'another', ...fields } })
      return { key: body.key, hash: body.data.hash }
    }
    /** Stores the reply to a text. */
    const store = async (content: unknown = question, options?: SentChat) => {
      const count = (await listEntries(bench())).length
      expect(await status(content, options)).toBe('MISS semantic')
      await waitForEntries(bench(), count + 1)
    }

    beforeEach(async () => {
      await clearGenerations(bench())
      await clearCaches(bench())
      bench().second.setDefault(null)
    })

    for (const [name, client] of Object.entries(clients))
      for (const stream of [false, true])
        test(`${name}, ${stream ? 'streamed' : 'whole'}: a similar text has the reply of the first`, async () => {
          const upstream = textWireFormats.find((format) => format === name) ?? 'chat'
          const { frames, body } = vendorReply(upstream, 'text')
          bench().first.enqueue(stream ? { sse: frames } : { json: body })
          const request = (text: string) => {
            const { path, body: fields } = client(text, stream)
            const own = { ...fields }
            return fetch(server().url + path, {
              method: 'POST',
              headers: { authorization: `Bearer ${server().own.inferenceKey}`, ...on },
              body: JSON.stringify(own),
            })
          }
          const first = await request(question)
          expect(await first.text()).toContain('Oslo')
          expect(first.headers.get('x-service-cache-status')).toBe('MISS')
          await waitForEntries(bench(), 1)
          const second = await request(similar)
          expect(await second.text()).toContain('Oslo')
          expect(Object.fromEntries(second.headers)).toMatchObject({
            'content-type': first.headers.get('content-type'),
            'x-service-cache-status': 'HIT',
            'x-service-cache-mode': 'semantic',
            'x-service-cache-similarity': '0.9797',
            'x-service-cache-source-id': first.headers.get('x-generation-id'),
          })
          expect(bench().first.requests.length).toBe(1)
        })

    test('a hit costs its embedding, which is a request with a record of its own', async () => {
      const usage = async () => {
        server().clock.advance(2000)
        return (await server().call('GET', '/key', { key: server().own.inferenceKey })).body.data.usage
      }
      await store()
      const spent = await usage()
      const hit = await send(similar)
      const { usage: reported } = await readJson(hit)
      expect(reported).toMatchObject({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })
      expect(reported.cost).toBeGreaterThan(0)
      expect((await usage()) - spent).toBeCloseTo(reported.cost, 12)

      const { data } = (await server().call('GET', `/generation?id=${hit.headers.get('x-generation-id')}`))
        .body
      expect(data).toMatchObject({ provider_responses: [], tokens_prompt: 0, total_cost: reported.cost })
      expect(data.headgate).toMatchObject({ cache: 'semantic', cache_similarity: 0.9797, own_cost: 0 })
      const [line] = data.headgate.lines
      expect(line).toMatchObject({ kind: 'request', name: 'semantic_cache', cost: reported.cost })
      const nested = (await server().call('GET', `/generation?id=${line.generation_id}`)).body.data
      expect(nested).toMatchObject({
        model: 'sandbox/embedder',
        api_type: 'embeddings',
        total_cost: reported.cost,
      })
      expect(nested.headgate.parent_id).toBe(data.id)
      expect(await requestHolds(server().gateway.db).selectAll().execute()).toEqual([])
    })

    test('a miss pays for the embedding and for its reply', async () => {
      const first = await send(question)
      const { usage } = await readJson(first)
      const rows = await listGenerations(bench())
      const costs = rows.map(({ cost_nanos }) => Number(cost_nanos) / 1e9)
      expect(rows.map(({ api_type }) => api_type).sort()).toEqual(['completions', 'embeddings'])
      expect(usage.cost).toBeCloseTo(
        costs.reduce((sum, cost) => sum + cost, 0),
        12,
      )
      await waitForEntries(bench(), 1)
    })

    test('is off unless the request asks for it; an identical request is an exact hit, and embeds nothing', async () => {
      const exact = { headers: { 'x-service-cache': 'true' } }
      expect(await status(question, exact)).toBe('MISS')
      expect(await status(similar, exact)).toBe('MISS')
      expect(await status(similar, { headers: { 'x-service-cache-mode': 'semantic' } })).toBe('')
      expect(await status(similar, { headers: { ...on, 'x-service-cache-mode': 'fuzzy' } })).toBe('HIT')
      expect(await listEntries(bench())).toEqual([])
      expect(await status(question)).toBe('HIT')
      expect((await listGenerations(bench())).some(({ api_type }) => api_type === 'embeddings')).toBe(false)
    })

    test('an identical text that the exact cache no longer has is found with similarity 1', async () => {
      await store()
      server().gateway.responseCache.clear()
      const hit = await send(question)
      expect(hit.headers.get('x-service-cache-similarity')).toBe('1.0000')
      await hit.arrayBuffer()
    })

    describe('does not share', () => {
      const shared = { ...on, 'x-service-cache-scope': 'workspace' }

      test('R36 I9 the replies of one key with another, unless both ask for it', async () => {
        const { key } = await createKey()
        await store()
        expect(await status(similar, { key })).toBe('MISS semantic')
        server().gateway.responseCache.clear()
        expect(await status(similar, { key, headers: shared })).toBe('MISS semantic')
        await waitForEntries(bench(), 3)
        await clearCaches(bench())
        await store(question, { headers: shared })
        expect(await status(similar, { key })).toBe('MISS semantic')
        await waitForEntries(bench(), 2)
        server().gateway.responseCache.clear()
        expect(await status(similar, { key, headers: shared })).toBe('HIT semantic')
      })

      test('R36 S9 I9 anything between workspaces, or between organizations', async () => {
        const slug = `ws-${Date.now()}`
        const { id } = (await server().call('POST', '/workspaces', { body: { name: slug, slug } })).body.data
        const { key } = await createKey({ workspace_id: id })
        await server().call('POST', '/credits/grants', {
          body: { amount: 5, organization_id: server().foreign.organization.id, kind: 'grant' },
        })
        await store(question, { headers: shared })
        expect(await status(similar, { key, headers: shared })).toBe('MISS semantic')
        const foreign = { key: server().foreign.inferenceKey, headers: shared }
        expect(await status(similar, foreign)).toBe('MISS semantic')
        await waitForEntries(bench(), 3)
        expect(await status('How may I reset the password of my account in the settings?', foreign)).toBe(
          'HIT semantic',
        )
      })

      test('an entry whose row was moved to another scope', async () => {
        const { key } = await createKey()
        await store()
        await store(question, { key })
        const [own, other] = await listEntries(bench())
        const { db, responseCache } = server().gateway
        responseCache.clear()
        await db
          .updateTable('semantic_cache_entries')
          .set({ scope: own?.scope ?? '' })
          .where('id', '=', other?.id ?? '')
          .execute()
        await db
          .deleteFrom('semantic_cache_entries')
          .where('id', '=', own?.id ?? '')
          .execute()
        expect(await status(similar)).toBe('MISS semantic')
        await waitForEntries(bench(), 2)
      })

      test('with a key that has other guardrails', async () => {
        const { key, hash } = await createKey()
        const made = await server().call('POST', '/guardrails', {
          body: { name: 'providers', ignored_providers: ['two-chat'] },
        })
        await server().call('POST', `/guardrails/${made.body.data.id}/assignments/keys`, {
          body: { key_hashes: [hash] },
        })
        await store(question, { headers: shared })
        expect(await status(similar, { key, headers: shared })).toBe('MISS semantic')
        await waitForEntries(bench(), 2)
      })
    })

    test('everything but the last text must be equal', async () => {
      const base = {
        messages: [
          { role: 'system', content: 'Be brief.' },
          user('Hi'),
          { role: 'assistant', content: 'Hello' },
        ],
      }
      const withLast = (text: string, changes: JsonObject = {}, before = base.messages) => ({
        body: { ...changes, messages: [...before, user(text)] },
      })
      await store('', withLast(question))
      const [system, ...rest] = base.messages
      const others: SentChat[] = [
        withLast(similar, {}, [{ role: 'system', content: 'Be long.' }, ...rest]),
        withLast(similar, {}, [system!, user('Hey'), ...rest.slice(1)]),
        withLast(similar, {}, rest),
        withLast(similar, { model: 'test/both-chat' }),
        withLast(similar, { temperature: 0.5 }),
        withLast(similar, { tools: [tool] }),
        withLast(similar, { response_format: { type: 'json_object' } }),
        withLast(similar, { user: 'someone' }),
        withLast(similar, { wibble: 1 }),
        withLast(similar, { stream: true }),
        { ...withLast(similar), headers: { ...on, 'x-headgate-strict': 'true' } },
        { ...withLast(similar), headers: { ...on, 'x-headgate-user': 'someone' } },
      ]
      for (const other of others) expect([other, await status('', other)]).toEqual([other, 'MISS semantic'])
      await waitForEntries(bench(), others.length + 1)
      server().gateway.responseCache.clear()
      expect(await status('', withLast(similar))).toBe('HIT semantic')
    })

    test('texts with other numbers, negations or names do not match, however similar they are', async () => {
      const pairs = [
        [
          'Which of these cheeses can I eat during the flight to Oslo?',
          'Which of these cheeses can I eat during the flight to Rome?',
        ],
        [
          'Please tell me how much it costs to send 2 parcels of books',
          'Please tell me how much it costs to send 20 parcels of books',
        ],
        [
          'What is a user of this service allowed to do with their data',
          'What is a user of this service not allowed to do with their data',
        ],
        [
          'Explain what the option `--force` does when files are replaced',
          'Explain what the option `--quiet` does when files are replaced',
        ],
      ]
      const loose = { headers: { ...on, 'x-service-cache-threshold': '0.5' } }
      for (const [first, second] of pairs) {
        await store(first, loose)
        expect([second, await status(second, loose)]).toEqual([second, 'MISS semantic'])
        await waitForEntries(bench(), 2)
        server().gateway.responseCache.clear()
        expect(await status(first, loose)).toBe('HIT semantic')
        await clearCaches(bench())
      }
    })

    test('says why a request is not compared', async () => {
      const native = { type: 'web_search_20250305', name: 'web_search' }
      const cases: [reason: string, content: unknown, options?: SentChat][] = [
        ['media', [{ type: 'text', text: question }, image]],
        [
          'media',
          question,
          { body: { messages: [user([image]), { role: 'assistant', content: 'A dot' }, user(question)] } },
        ],
        [
          'last_message',
          [
            { type: 'text', text: question },
            { type: 'text', text: 'More' },
          ],
        ],
        [
          'last_message',
          question,
          { body: { messages: [user(question), { role: 'assistant', content: 'To' }] } },
        ],
        ['last_message', ' '],
        ['too_long', 'word '.repeat(801)],
        ['script', '如何重置密码？'],
        [
          'tools',
          question,
          { path: '/v1/messages', body: { model: 'test/messages', max_tokens: 9, tools: [native] } },
        ],
        ['tools', question, { body: { plugins: [{ id: 'response-healing' }] } }],
      ]
      for (const [reason, content, options] of cases)
        expect([reason, content, await status(content, options)]).toEqual([
          reason,
          content,
          `MISS exact ${reason}`,
        ])
      expect(await listEntries(bench())).toEqual([])
      expect((await listGenerations(bench())).some(({ api_type }) => api_type === 'embeddings')).toBe(false)
    })

    test('does not store calls of tools, replies that were cut off, or errors', async () => {
      const { body } = vendorReply('chat', 'toolCalls')
      bench().first.enqueue({ json: body })
      expect(await status(question, { body: { tools: [tool] } })).toBe('MISS semantic')
      const cut = { index: 0, finish_reason: 'length', message: { role: 'assistant', content: 'In the' } }
      bench().first.enqueue({ json: { ...vendorReply('chat', 'text').body, choices: [cut] } })
      expect(await status(question)).toBe('MISS semantic')
      bench().first.enqueue({ status: 400, json: { error: { message: 'no' } } })
      expect(await status('Another question of another user')).toBe('400')
      await store('Yet another question of yet another user')
      expect((await listEntries(bench())).length).toBe(1)
    })

    test('neither reads nor stores anything where retention is forbidden', async () => {
      const zdr = { body: { model: 'test/both-chat', provider: { zdr: true } } }
      for (let time = 0; time < 2; time++) expect(await status(question, zdr)).toBe('')
      expect(await listEntries(bench())).toEqual([])
    })

    test('stores texts and vectors encrypted', async () => {
      const { body } = vendorReply('chat', 'text')
      bench().first.enqueue({ json: body })
      await store()
      const [entry] = await listEntries(bench())
      const stored = `${entry?.reply} ${Buffer.from(entry?.vector ?? []).toString('latin1')} ${entry?.scope}`
      expect(stored).not.toContain('Oslo')
      // Vectors of the same text differ, so they cannot be compared without the key.
      await store(question, { key: (await createKey()).key })
      const [first, second] = await listEntries(bench())
      expect(Buffer.compare(first?.vector ?? new Uint8Array(), second?.vector ?? new Uint8Array())).not.toBe(
        0,
      )
    })

    test('a preset turns it on and sets its scope and threshold; headers take precedence', async () => {
      const fields = {
        model: 'test/chat',
        messages: [user('Hi')],
        cache_enabled: true,
        cache_mode: 'semantic',
      }
      const body = { ...fields, cache_scope: 'workspace', cache_threshold: 0.99 }
      expect(
        (await server().call('POST', '/presets/similar/chat/completions', { body })).status,
      ).toBeLessThan(300)
      const preset = { body: { model: '@preset/similar' }, headers: {} }
      await store(question, preset)
      const { key } = await createKey()
      expect(await status(similar, { ...preset, key })).toBe('MISS semantic')
      await waitForEntries(bench(), 2)
      const lower = { ...preset, key, headers: { 'x-service-cache-threshold': '0.9' } }
      expect(await status('How may I reset the password of my account in the settings?', lower)).toBe(
        'HIT semantic',
      )
      expect(await status(`${similar} `, { ...preset, headers: { 'x-service-cache-mode': 'exact' } })).toBe(
        'MISS',
      )
      expect(JSON.stringify(bench().first.requests.map(({ json }) => json))).not.toContain('cache_')
    })

    test('counts hits, misses and what was not compared', async () => {
      const count = async (name: string) => {
        const { body } = await server().gateway.metrics.render()
        const line = body.split('\n').find((text) => text.includes(`requests_total{status="${name}"}`))
        return Number(line?.split(' ')[1] ?? 0)
      }
      const names = ['semantic_hit', 'semantic_miss', 'semantic_skipped']
      const before = await Promise.all(names.map(count))
      await store()
      expect(await status(similar)).toBe('HIT semantic')
      await status([{ type: 'text', text: question }, image])
      expect(await Promise.all(names.map(count))).toEqual(before.map((value) => value + 1))
    })
  },
  buildSemanticSettings,
)
