import { beforeEach, expect, test } from 'bun:test'
import type { JsonObject } from '../../src/platform/json/json-values.ts'
import { clearGenerations, describeWithUpstreams, readJson } from './two-upstreams.ts'

const on = { 'x-service-cache': 'true', 'x-service-cache-mode': 'semantic' }
const asked = 'How do I reset the password of my account in the settings?'
const similar = 'How can I reset the password of my account in the settings?'

describeWithUpstreams(
  'the semantic cache',
  (bench) => {
    const server = () => bench().server
    const chat = (content: unknown, changes: JsonObject = {}, headers: Record<string, string> = on) =>
      fetch(`${server().url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${server().own.inferenceKey}`,
          'content-type': 'application/json',
          ...headers,
        },
        body: JSON.stringify({ model: 'test/chat', messages: [{ role: 'user', content }], ...changes }),
      })

    beforeEach(async () => {
      await clearGenerations(bench())
      server().gateway.responseCache.clear()
      await server().gateway.db.deleteFrom('semantic_cache_entries').execute()
    })

    test('a similar text is answered with the stored reply', async () => {
      const first = await chat(asked)
      const body = await readJson(first)
      expect(Object.fromEntries(first.headers)).toMatchObject({
        'x-service-cache-status': 'MISS',
        'x-service-cache-mode': 'semantic',
      })
      const second = await chat(similar)
      const again = await readJson(second)
      expect(again.choices[0].message.content).toBe(body.choices[0].message.content)
    })
  },
  'semantic_cache: { model: sandbox/embedder, threshold: 0.8 }',
)
