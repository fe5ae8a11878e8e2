import { afterAll, describe, expect, test } from 'bun:test'
import { CoarseTimer, timedOut } from './coarse-timer.ts'

describe('a pulse', () => {
  const pulse = new CoarseTimer(5)
  afterAll(() => pulse.stop())

  test('gives what came in time, and passes errors on', async () => {
    expect(await pulse.wait(Promise.resolve('done'), 1000)).toBe('done')
    await expect(pulse.wait(Promise.reject(new Error('no')), 1000)).rejects.toThrow('no')
  })

  test('says when it takes longer; the same work can be waited for again', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const watch = pulse.createWaiter()
    expect(await watch.wait(promise, 10)).toBe(timedOut)
    expect(await watch.wait(promise, 10)).toBe(timedOut)
    resolve('late')
    expect(await watch.wait(promise, 1000)).toBe('late')
    watch.close()
  })
})
