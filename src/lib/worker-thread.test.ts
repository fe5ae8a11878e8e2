import { expect, test } from 'bun:test'
import { WorkerThread } from './worker-thread.ts'

test('each request gets its reply, whatever the order of the replies', async () => {
  const thread = new WorkerThread(new URL('../../test/support/barrier-worker.ts', import.meta.url), 'open')
  const order: string[] = []
  const call = async (request: string) => {
    const reply = await thread.call(request).catch((error: { code: string }) => error.code)
    order.push(request)
    return reply
  }
  const replies = await Promise.all(['wait', 'fail', 'quick', 'release'].map(call))
  thread.terminate()
  expect(replies).toEqual(['wait', 'E_FAILED', 'quick', 'release'])
  expect(order.indexOf('quick')).toBeLessThan(order.indexOf('wait'))
})
