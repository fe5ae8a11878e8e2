import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../src/platform/json/json-values.ts'
import { type Bench, lastRequest, openBench, sendRequest } from './two-upstreams.ts'

interface Chunk {
  choices: { finish_reason: string | null }[]
  usage?: { total_tokens: number; cost: number }
}

describe('the usage at the end of a chat stream', () => {
  let bench: Bench
  beforeAll(async () => {
    bench = await openBench('sqlite')
  })
  afterAll(async () => {
    await bench.server.stop()
    await Promise.all([bench.first.stop(), bench.second.stop()])
  })

  async function chunksOf(body: JsonObject, path = '/v1/chat/completions'): Promise<Chunk[]> {
    const response = await fetch(bench.server.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${bench.server.own.inferenceKey}` },
      body: JSON.stringify({ stream: true, ...body }),
    })
    const text = await response.text()
    expect(text).toEndWith('data: [DONE]\n\n')
    return text.split('\n\n').flatMap((frame) => {
      const data = frame.replace(/^data: /, '')
      return frame.startsWith('data: {') ? [JSON.parse(data) as Chunk] : []
    })
  }

  const prompt = { messages: [{ role: 'user', content: 'Hello' }] }
  const ways: [string, JsonObject, string?][] = [
    ['the same format', { model: 'test/chat', ...prompt }],
    ['a translation', { model: 'test/messages', ...prompt }],
    ['the sandbox', { model: 'sandbox/echo', ...prompt }],
    ['a Responses body on the chat path', { model: 'test/chat', input: 'Hello' }],
    ['text completions', { model: 'test/chat', prompt: 'Hello' }, '/v1/completions'],
  ]

  for (const [name, body, path] of ways) {
    test(`${name}: is part of the last chunk by default`, async () => {
      const chunks = await chunksOf(body, path)
      for (const chunk of chunks) expect(chunk.choices.length).toBe(1)
      const last = chunks.at(-1)
      expect(last?.choices[0]?.finish_reason).toBe('stop')
      expect(last?.usage?.total_tokens).toBeGreaterThan(0)
      expect(chunks.filter(({ usage }) => usage)).toHaveLength(1)
    })

    test.each([[{ stream_options: { include_usage: true } }], [{ usage: { include: true } }]])(
      `${name}: is a separate chunk for a client that requests it: %j`,
      async (fields) => {
        const chunks = await chunksOf({ ...body, ...fields }, path)
        expect(chunks.at(-1)?.choices).toEqual([])
        expect(chunks.at(-1)?.usage?.total_tokens).toBeGreaterThan(0)
        expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop')
        expect(chunks.at(-2)).not.toHaveProperty('usage')
      },
    )
  }

  test('usage is always requested from the upstream', async () => {
    await sendRequest(bench, 'chat', { model: 'test/chat', stream: true }).then((response) => response.text())
    expect(lastRequest(bench.first.requests).json.stream_options).toEqual({ include_usage: true })
  })

  test('of several choices the last one to end carries it', async () => {
    const ended = (index: number) => ({ index, delta: {}, finish_reason: 'stop' })
    const content = (index: number) => ({ index, delta: { content: 'a' }, finish_reason: null })
    const chunk = (fields: JsonObject) =>
      `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', ...fields })}\n\n`
    bench.first.enqueue({
      sse: [
        ...[content(0), content(1), ended(1), ended(0)].map((choice) => chunk({ choices: [choice] })),
        chunk({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } }),
        'data: [DONE]\n\n',
      ],
    })
    const chunks = await chunksOf({ model: 'test/chat', n: 2, ...prompt })
    expect(chunks.every(({ choices }) => choices.length === 1)).toBe(true)
    expect(chunks.at(-1)?.usage?.total_tokens).toBe(5)
  })
})
