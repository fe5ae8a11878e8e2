import { afterEach, describe, expect, spyOn, test } from 'bun:test'
import { RepeatedTask, type RunResult } from './repeated-task.ts'

const neverMs = 1_000_000
let task: RepeatedTask
afterEach(() => task.stop())

/** A task with these results, the last of which repeats. Each call of `next` resolves when a further run has begun. */
function createTask(results: RunResult[], everyMs: number, restMs = neverMs) {
  let runs = 0
  let started = Promise.withResolvers<number>()
  const errors: unknown[] = []
  const run = async () => {
    const result = results[Math.min(runs++, results.length - 1)] as RunResult
    started.resolve(runs)
    started = Promise.withResolvers()
    return result
  }
  task = new RepeatedTask({ run, everyMs, restMs, onError: (error) => errors.push(error) })
  return { next: () => started.promise, countRuns: () => runs, errors }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('RepeatedTask', () => {
  test('runs again and again while there is work', async () => {
    const { next } = createTask(['busy'], 1)
    const first = next()
    task.start()
    expect(await first).toBe(1)
    expect(await next()).toBe(2)
    expect(await next()).toBe(3)
  })

  test('rests when there is none, until it is woken', async () => {
    const { next, countRuns } = createTask(['idle'], 1)
    task.start()
    await turn()
    expect(countRuns()).toBe(1)
    const second = next()
    task.wake()
    task.wake()
    expect(await second).toBe(2)
    await turn()
    expect(countRuns()).toBe(2)
  })

  test('runs again if it is woken during a run that found nothing', async () => {
    const { next } = createTask(['idle'], 1)
    const first = next()
    task.start()
    const second = first.then(next)
    task.wake()
    expect(await second).toBe(2)
  })

  test('is woken no oftener than its interval, unless it is to run now', async () => {
    const { next, countRuns } = createTask(['idle'], neverMs)
    task.start()
    await turn()
    task.wake()
    await turn()
    expect(countRuns()).toBe(1)
    const second = next()
    task.runNow()
    expect(await second).toBe(2)
  })

  test('looks for the work of others after a rest', async () => {
    const { next } = createTask(['idle'], neverMs, 1)
    task.start()
    expect(await next()).toBe(2)
  })

  test.each([
    [20_100, 10_000, 9900],
    [24_900, 10_000, 5100],
    [25_100, 10_000, 14_900],
    [29_999, 10_000, 10_001],
    [20_100, 60_000, 39_900],
  ])('at %d with an interval of %d, waits %d so that tasks run together', async (now, restMs, waitMs) => {
    const clock = spyOn(performance, 'now').mockReturnValue(now)
    const timers = spyOn(globalThis, 'setTimeout')
    createTask(['idle'], 1, restMs)
    task.start()
    await turn()
    const waits = timers.mock.calls.map(([, ms]) => ms)
    for (const spy of [clock, timers]) spy.mockRestore()
    expect(waits).toEqual([waitMs])
  })

  test('continues after a failure', async () => {
    const failing = createTask(['busy'], 1)
    task.stop()
    const errors: unknown[] = []
    const second = Promise.withResolvers<void>()
    let runs = 0
    const run = async (): Promise<RunResult> => {
      if (++runs === 1) throw new Error('first')
      second.resolve()
      return 'idle'
    }
    task = new RepeatedTask({ run, everyMs: 1, restMs: neverMs, onError: (error) => errors.push(error) })
    task.start()
    await second.promise
    expect([errors.length, failing.countRuns()]).toEqual([1, 0])
  })
})
