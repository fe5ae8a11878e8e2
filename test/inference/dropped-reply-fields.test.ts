import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type Bench, clearGenerations, openBench, sendRequest, waitForGenerations } from './two-upstreams.ts'

const logprobs = { content: [{ token: 'Hi', logprob: -0.1, bytes: null, top_logprobs: [] }], refusal: null }
const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 }
const whole = {
  id: 'x',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, logprobs, finish_reason: 'stop' }],
  usage,
}
const chunks = [
  { choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi' }, logprobs, finish_reason: null }] },
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  { choices: [], usage },
]
const sse = [...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n']

describe('R31 a field of the reply that the client’s format cannot carry', () => {
  let bench: Bench
  beforeAll(async () => {
    bench = await openBench('sqlite')
  })
  beforeEach(() => clearGenerations(bench))
  afterAll(async () => {
    await bench.server.stop()
    await Promise.all([bench.first.stop(), bench.second.stop()])
  })

  test('is named in the header of a whole reply, and in its record', async () => {
    bench.first.enqueue({ json: whole })
    const response = await sendRequest(bench, 'messages', {
      model: 'test/chat',
      context_management: { edits: [] },
    })
    expect(response.headers.get('x-headgate-dropped')).toBe('context_management, reply.logprobs')
    const [row] = await waitForGenerations(bench, 1)
    expect(JSON.parse(row?.dropped ?? '[]')).toEqual(['context_management', 'reply.logprobs'])
  })

  test('is named in a comment before the end of a stream', async () => {
    bench.first.enqueue({ sse })
    const response = await sendRequest(bench, 'messages', { model: 'test/chat', stream: true })
    const text = await response.text()
    const comment = text.indexOf(': x-headgate-dropped: reply.logprobs\n\n')
    expect(comment).toBeGreaterThan(0)
    expect(comment).toBeLessThan(text.indexOf('event: message_stop'))
  })

  test('does not occur where the formats are the same', async () => {
    bench.first.enqueue({ json: whole }, { sse })
    const response = await sendRequest(bench, 'chat', { model: 'test/chat', logprobs: true })
    expect(response.headers.get('x-headgate-dropped')).toBeNull()
    const streamed = await sendRequest(bench, 'chat', { model: 'test/chat', logprobs: true, stream: true })
    expect(await streamed.text()).not.toContain('x-headgate-dropped')
  })
})
