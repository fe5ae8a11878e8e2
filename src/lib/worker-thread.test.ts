import { expect, test } from 'bun:test'
import { WorkerThread } from './worker-thread.ts'

test('each question gets its own answer, in whatever order the worker gives them', async () => {
  const thread = new WorkerThread(new URL('../../test/support/gate-worker.ts', import.meta.url), 'open')
  const order: string[] = []
  const ask = async (incoming: string) => {
    const answer = await thread.call(incoming).catch((error: { code: string }) => error.code)
    order.push(incoming)
    return answer
  }
  const answers = await Promise.all(['wait', 'fail', 'quick', 'release'].map(ask))
  thread.terminate()
  expect(answers).toEqual(['wait', 'E_FAILED', 'quick', 'release'])
  expect(order.indexOf('quick')).toBeLessThan(order.indexOf('wait'))
})
