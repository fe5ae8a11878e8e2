import { expect, test } from 'bun:test'
import { WorkerThread } from './worker-thread.ts'

test('each request gets its reply, whatever the order of the replies', async () => {
  const thread = new WorkerThread(new URL('../../../test/support/barrier-worker.ts', import.meta.url), 'open')
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

test('a thread without calls ends, after its last message, and the next call starts another', async () => {
  const file = new URL('../../../test/support/barrier-worker.ts', import.meta.url)
  const thread = new WorkerThread(file, 'open', { afterMs: 10, message: 'close' })
  const waiting = thread.call('wait')
  await Bun.sleep(50)
  expect(thread).toHaveProperty('isRunning', true)
  await thread.call('release')
  expect(await waiting).toBe('wait')
  while (thread.isRunning) await Bun.sleep(5)
  expect(await thread.call('again')).toBe('again')
  expect(thread).toHaveProperty('isRunning', true)
  thread.terminate()
})
