import { expect, test } from 'bun:test'
import { Thread } from './thread.ts'

test('each question gets its own answer, in whatever order the worker gives them', async () => {
  const thread = new Thread(new URL('../../test/support/gate-worker.ts', import.meta.url), 'open')
  const order: string[] = []
  const ask = async (question: string) => {
    const answer = await thread.ask(question).catch((error: { code: string }) => error.code)
    order.push(question)
    return answer
  }
  const answers = await Promise.all(['wait', 'fail', 'quick', 'release'].map(ask))
  thread.end()
  expect(answers).toEqual(['wait', 'E_FAILED', 'quick', 'release'])
  expect(order.indexOf('quick')).toBeLessThan(order.indexOf('wait'))
})
