import { afterAll, describe, expect, test } from 'bun:test'
import { CoarseTimer, timedOut } from './coarse-timer.ts'

describe('CoarseTimer', () => {
  const timer = new CoarseTimer(5)
  afterAll(() => timer.stop())

  test('returns a result in time, and passes errors on', async () => {
    expect(await timer.wait(Promise.resolve('done'), 1000)).toBe('done')
    await expect(timer.wait(Promise.reject(new Error('no')), 1000)).rejects.toThrow('no')
  })

  test('I10 does not wake a process in which nothing waits', async () => {
    const idle = new CoarseTimer(1)
    expect(idle.isRunning).toBe(false)
    for (let time = 0; time < 2; time++) {
      expect(await idle.wait(new Promise(() => undefined), 1)).toBe(timedOut)
      expect(idle.isRunning).toBe(true)
      while (idle.isRunning) await new Promise((resolve) => setImmediate(resolve))
    }
  })

  test('reports a timeout; the same work can be awaited again', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    expect(await timer.wait(promise, 10)).toBe(timedOut)
    expect(await timer.wait(promise, 10)).toBe(timedOut)
    resolve('late')
    expect(await timer.wait(promise, 1000)).toBe('late')
  })
})
