import { expect, test } from 'bun:test'
import { type Bench, describeWithUpstreams, sendRequest } from './two-upstreams.ts'

const usage = { usage: { prompt_tokens: 1, completion_tokens: 5, total_tokens: 6 } }

function chunk(delta: object, finish: string | null, index: number, extra: object = {}): string {
  const choices = [{ index, delta, finish_reason: finish }]
  const body = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...extra }
  return `data: ${JSON.stringify(body)}\n\n`
}

const last = [`data: ${JSON.stringify({ id: 'c', choices: [], ...usage })}\n\n`, 'data: [DONE]\n\n']

const tests = (bench: () => Bench) => {
  test.each([
    ['slowly', {}, 300],
    ['with running counts', usage, 60],
  ])('that come one after the other, %s, is whole', async (_, extra, delayMs) => {
    const sse = [
      chunk({ content: 'A1' }, null, 0, extra),
      chunk({}, 'stop', 0, extra),
      ...['B1', 'B2', 'B3', 'B4', 'B5'].map((content) => chunk({ content }, null, 1, extra)),
      chunk({}, 'stop', 1, extra),
      ...last,
    ]
    bench().first.enqueue({ sse, delayMs })
    const text = await (await sendRequest(bench(), 'chat', { model: 'test/chat', n: 2, stream: true })).text()
    expect(text).toContain('"B5"')
    expect(text).toContain('data: [DONE]')
    expect(text).not.toContain('"error"')
  })

  test.each([
    ['and says so', last],
    ['and ends without a mark', last.slice(0, 1)],
  ])('of which the provider gives fewer, %s, ends well', async (_, tail) => {
    bench().first.enqueue({ sse: [chunk({ content: 'A1' }, null, 0), chunk({}, 'stop', 0), ...tail] })
    const text = await (await sendRequest(bench(), 'chat', { model: 'test/chat', n: 2, stream: true })).text()
    expect(text).toContain('data: [DONE]')
    expect(text).not.toContain('"error"')
  })
}

describeWithUpstreams('a stream of several choices', tests, '', ['sqlite'])
