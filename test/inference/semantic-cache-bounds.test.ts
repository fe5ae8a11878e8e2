import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { sql } from 'kysely'
import { deleteExpiredEntries } from '../../src/inference/cache/semantic-store.ts'
import { contextOf } from '../../src/inference/cache/similar-entries.ts'
import { databaseKinds, type TestServer } from '../support/harness.ts'
import { requestHolds } from '../support/holds.ts'
import { measureLoopDelay } from '../support/loop-delay.ts'
import { startTwoNodes } from '../support/nodes.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'
import {
  ask,
  buildSemanticSettings,
  changeSettings,
  clearCaches,
  listEntries,
  on,
  question,
  type SentChat,
  similar,
  statusOf,
  waitForEntries,
} from './semantic-cache-scene.ts'
import { clearGenerations, describeWithUpstreams, listGenerations } from './two-upstreams.ts'

/** The reply of an embedding model: the vector of each text. */
function replyWithVectors(vectors: Record<string, number[]>) {
  return ({ json }: { json: { input: string } }) => ({
    json: {
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: vectors[json.input] ?? [] }],
      usage: { prompt_tokens: 10, total_tokens: 10 },
    },
  })
}

/** The cosine of the vectors of any two of these is the product of their first numbers, and of their second ones. */
const vectors = { [question]: [1, 0], [similar]: [4, 3] }

/** Texts whose only difference is a word without a meaning of its own. */
const words = 'amber beech cedar daisy elder fennel garlic hazel iris jasmine'.split(' ')

describeWithUpstreams(
  'the bounds of the semantic cache',
  (bench) => {
    const server = () => bench().server
    const status = (content: unknown, options?: SentChat) => statusOf(ask(bench(), content, options))
    const store = async (content: unknown, options?: SentChat) => {
      const { length } = await listEntries(bench())
      expect(await status(content, options)).toBe('MISS semantic')
      await waitForEntries(bench(), length + 1)
    }
    const createKey = async (fields: object) =>
      (await server().call('POST', '/keys', { body: { name: 'limited', ...fields } })).body.key as string
    let restore: () => void = () => undefined
    const change = (changes: Parameters<typeof changeSettings>[1]) => {
      restore()
      restore = changeSettings(bench(), changes)
    }

    beforeEach(async () => {
      await clearGenerations(bench())
      await clearCaches(bench())
      bench().second.setDefault(replyWithVectors(vectors))
    })
    afterEach(async () => {
      restore()
      restore = () => undefined
      expect(await requestHolds(server().gateway.db).selectAll().execute()).toEqual([])
    })

    test('the threshold is that of the settings or of the request, within its bounds', async () => {
      change({ model: 'test/embedder', threshold: 0.8 })
      await store(question)
      const lookUp = async (threshold?: string) => {
        const response = await ask(bench(), similar, {
          headers: { ...on, ...(threshold !== undefined && { 'x-service-cache-threshold': threshold }) },
        })
        await response.arrayBuffer()
        const hit = response.headers.get('x-service-cache-similarity')
        if (hit === null) await waitForEntries(bench(), 2)
        await server()
          .gateway.db.deleteFrom('semantic_cache_entries')
          .where('id', '=', response.headers.get('x-generation-id') ?? '')
          .execute()
        server().gateway.responseCache.clear()
        return hit
      }
      // The cosine of the two is 0.8 exactly.
      expect(await lookUp()).toBe('0.8000')
      expect(await lookUp('0.8001')).toBeNull()
      expect(await lookUp('0.8')).toBe('0.8000')
      expect(await lookUp('1.5')).toBeNull()
      expect(await lookUp('-3')).toBe('0.8000')
      expect(await lookUp('high')).toBe('0.8000')
      change({ model: 'test/embedder', threshold: 0.81 })
      expect(await lookUp()).toBeNull()
      expect(await lookUp('0.1')).toBe('0.8000')
      bench().second.setDefault(
        replyWithVectors({ ...vectors, [similar]: [0.499, Math.sqrt(1 - 0.499 ** 2)] }),
      )
      expect(await lookUp('0.1')).toBeNull()
    })

    describe('an embedding that fails is a miss', () => {
      const failures = {
        'an error of the provider': () =>
          bench().second.setDefault({ status: 500, json: { error: { message: 'down' } } }),
        'a provider that does not answer': () => bench().second.setDefault({ hang: true }),
        'a closed connection': () => bench().second.setDefault({ breakBeforeHead: true }),
        'a reply without a vector': () => bench().second.setDefault(replyWithVectors({})),
        'a vector of nothing': () => bench().second.setDefault(replyWithVectors({ [question]: [0, 0] })),
        'a vector that is too long': () =>
          bench().second.setDefault(replyWithVectors({ [question]: new Array(8193).fill(0.5) })),
        'a model that does not exist': () => change({ model: 'test/none', timeout: 300 }),
        'a model without embeddings': () => change({ model: 'test/chat', timeout: 300 }),
      }
      for (const [name, arrange] of Object.entries(failures))
        test(name, async () => {
          change({ model: 'test/embedder', timeout: 300 })
          arrange()
          const sending = status(question)
          expect(await server().timer.passUntil(sending)).toBe('MISS exact embedding_failed')
          expect(await listEntries(bench())).toEqual([])
          const served = (await listGenerations(bench())).filter(({ api_type }) => api_type === 'completions')
          expect(served.map((row) => row.status)).toEqual(['completed'])
        })

      test('a model that the key may not use', async () => {
        const { body } = await server().call('POST', '/keys', { body: { name: 'guarded' } })
        const made = await server().call('POST', '/guardrails', {
          body: { name: 'models', allowed_models: ['test/chat'] },
        })
        await server().call('POST', `/guardrails/${made.body.data.id}/assignments/keys`, {
          body: { key_hashes: [body.data.hash] },
        })
        expect(await status(question, { key: body.key })).toBe('MISS exact embedding_failed')
      })
    })

    test('a search that fails is a miss', async () => {
      const { db } = server().gateway
      await sql`alter table semantic_cache_entries rename to hidden_entries`.execute(db)
      try {
        expect(await status(question)).toBe('MISS exact search_failed')
      } finally {
        await sql`alter table hidden_entries rename to semantic_cache_entries`.execute(db)
      }
    })

    test('without a model in the settings it is off', async () => {
      change({ model: null })
      expect(await status(question)).toBe('MISS exact not_configured')
      expect(await status(question)).toBe('HIT')
    })

    test('the embedding is held and charged exactly, and needs room within the limits', async () => {
      change({ model: 'test/embedder', threshold: 0.8 })
      // Ten tokens cost a cent, and what is held for them a little more than the text has bytes.
      const key = await createKey({ limit: 0.5 })
      await store(question, { key })
      expect(await status(similar, { key })).toBe('HIT semantic')
      const rows = await listGenerations(bench())
      const embeddings = rows.filter(({ api_type }) => api_type === 'embeddings')
      expect(embeddings.map(({ cost_nanos }) => cost_nanos)).toEqual([10_000_000n, 10_000_000n])
      expect(embeddings.every(({ hold_nanos, cost_nanos }) => hold_nanos >= cost_nanos)).toBe(true)
      const total = rows.reduce((sum, { cost_nanos }) => sum + cost_nanos, 0n)
      server().clock.advance(2000)
      const { data } = (await server().call('GET', '/key', { key })).body
      expect(Math.round(data.usage * 1e9)).toBe(Number(total))

      const poor = await createKey({ limit: 0.001 })
      server().gateway.responseCache.clear()
      expect(await status(question, { key: poor, body: { model: 'test/gift:free' } })).toBe(
        'MISS exact embedding_failed',
      )
      expect(
        (await listGenerations(bench())).filter(({ api_type }) => api_type === 'embeddings').length,
      ).toBe(2)
    })

    test('requests at the same time are charged exactly, each with its embedding', async () => {
      const key = await createKey({ limit: 5 })
      const texts = [...words, ...words].map((word) => `Tell me something about the plant called ${word}`)
      const statuses = await Promise.all(texts.map((text) => status(text, { key })))
      expect(statuses.every((text) => /^(MISS|HIT)/.test(text))).toBe(true)
      await waitForEntries(bench(), statuses.filter((text) => text === 'MISS semantic').length)
      const rows = await listGenerations(bench())
      expect(rows.filter(({ api_type }) => api_type === 'embeddings').length).toBeGreaterThanOrEqual(
        words.length,
      )
      const total = rows.reduce((sum, { cost_nanos }) => sum + cost_nanos, 0n)
      server().clock.advance(2000)
      const { data } = (await server().call('GET', '/key', { key })).body
      expect(Math.round(data.usage * 1e9)).toBe(Number(total))
    })

    test('entries expire after their time, and are deleted', async () => {
      const { clock, gateway } = server()
      clock.freeze('2031-05-05T12:00:00.000Z')
      try {
        await store(question, { headers: { ...on, 'x-service-cache-ttl': '60' } })
        clock.advance(59_000)
        const hit = await ask(bench(), similar)
        await hit.arrayBuffer()
        expect([hit.headers.get('x-service-cache-age'), hit.headers.get('x-service-cache-ttl')]).toEqual([
          '59',
          '1',
        ])
        clock.advance(1000)
        expect(await status(similar)).toBe('MISS semantic')
        await waitForEntries(bench(), 2)
        await deleteExpiredEntries(gateway.db, new Date(clock.now()).toISOString())
        expect((await listEntries(bench())).length).toBe(1)
      } finally {
        clock.release()
      }
    })

    test('clearing deletes what is similar, and nothing else', async () => {
      await store(question)
      await store('What does it take to bake bread at home')
      const clear = { headers: { ...on, 'x-service-cache-clear': 'true' } }
      expect(await status(similar, clear)).toBe('MISS semantic')
      await waitForEntries(bench(), 2)
      expect(await status('What does it take to bake bread at home ')).toBe('HIT semantic')
      expect(await status(question, { headers: { ...on, 'x-service-cache-threshold': '0.97' } })).toBe('HIT')
    })

    test('the oldest entries of a scope and of a workspace are deleted beyond the maximums', async () => {
      change({ max_entries: 3, workspace_entries: 5, threshold: 1 })
      const storeNext = async (...[content, options]: Parameters<typeof status>) => {
        const response = await ask(bench(), content, options)
        await response.arrayBuffer()
        const id = response.headers.get('x-generation-id')
        await waitUntil(async () => (await listEntries(bench())).some((entry) => entry.id === id))
      }
      for (const word of words.slice(0, 4))
        await storeNext(`Tell me something about the plant called ${word}`)
      await waitForEntries(bench(), 3)
      const lookUp = (word: string) => {
        server().gateway.responseCache.clear()
        return status(`Tell me something about the plant called ${word}`)
      }
      expect(await lookUp('beech')).toBe('HIT semantic')
      expect(await lookUp('daisy')).toBe('HIT semantic')
      const system = (text: string) => ({
        body: {
          messages: [
            { role: 'system', content: text },
            { role: 'user', content: question },
          ],
        },
      })
      const [first] = await listEntries(bench())
      for (const word of words) await storeNext('', system(word))
      await waitForEntries(bench(), 5)
      expect((await listEntries(bench())).map(({ id }) => id)).not.toContain(first?.id)
    })

    test('a long reply is not stored', async () => {
      change({ entry_bytes: 1024 })
      const message = { role: 'assistant', content: 'x'.repeat(1024) }
      bench().first.enqueue({
        json: { id: 'c', object: 'chat.completion', choices: [{ index: 0, finish_reason: 'stop', message }] },
      })
      expect(await status(question)).toBe('MISS semantic')
      await store('What does it take to bake bread at home')
    })

    test('a full scope is searched without holding the event loop', async () => {
      await store(question)
      const [entry] = await listEntries(bench())
      if (!entry) throw new Error('nothing was stored')
      const { gateway } = server()
      const { vault, db } = gateway
      const numbers = new Uint8Array(vault.decryptBytes(entry.vector, contextOf(entry.scope, entry.id)))
      for (let at = 0; at < 1000; at += 100)
        await db
          .insertInto('semantic_cache_entries')
          .values(
            Array.from({ length: 100 }, (_, index) => {
              const id = `gen-${at + index}`
              return {
                ...entry,
                id,
                vector: vault.encryptBytes(numbers, contextOf(entry.scope, id)),
                created_at: '2020-01-01T00:00:00.000Z',
              }
            }),
          )
          .execute()
      const delay = await measureLoopDelay(20, async () => {
        gateway.responseCache.clear()
        expect(await status(similar)).toBe('HIT semantic')
      })
      expect(delay).toBeLessThan(20)
    })
  },
  buildSemanticSettings,
)

describe.skipIf(!databaseKinds.includes('postgres'))('the semantic cache of two nodes', () => {
  let upstreams: [Upstream, Upstream]
  let nodes: [TestServer, TestServer]
  beforeAll(async () => {
    upstreams = [await startUpstream(), await startUpstream()]
    nodes = await startTwoNodes({ settings: buildSemanticSettings(upstreams[0].url, upstreams[1].url) })
    for (const { gateway } of nodes) gateway.routing.random = () => 0
  })
  afterAll(async () => {
    await nodes[1].stop()
    await nodes[0].stop()
    for (const upstream of upstreams) await upstream.stop()
  })

  test('one has the replies of the other', async () => {
    const [first, second] = nodes
    const bench = { server: first, first: upstreams[0], second: upstreams[1] }
    expect(await statusOf(ask(bench, question))).toBe('MISS semantic')
    await waitForEntries(bench, 1)
    expect(await statusOf(ask(bench, similar, { url: second.url }))).toBe('HIT semantic')
    const clear = { ...on, 'x-service-cache-clear': 'true' }
    expect(await statusOf(ask(bench, similar, { url: second.url, headers: clear }))).toBe('MISS semantic')
    await waitForEntries(bench, 1)
  })
})
