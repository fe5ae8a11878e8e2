import { heapStats } from 'bun:jsc'
import { describe, expect, test } from 'bun:test'
import { LinkedAbortController } from './linked-abort-controller.ts'

describe('LinkedAbortController', () => {
  test('aborts with the reason of the first source that does', () => {
    const [first, second] = [new AbortController(), new AbortController()]
    const linked = new LinkedAbortController([first.signal, second.signal], 60_000)
    expect(linked.signal.aborted).toBe(false)
    second.abort('gone')
    first.abort('later')
    expect([linked.signal.aborted, linked.signal.reason, linked.isTimedOut]).toEqual([true, 'gone', false])
  })

  test('is aborted from the start by a source that is', () => {
    const { signal } = new LinkedAbortController([new AbortController().signal, AbortSignal.abort('gone')], 0)
    expect([signal.aborted, signal.reason]).toEqual([true, 'gone'])
  })

  test('aborts after its time, unless that is removed', async () => {
    const timed = new LinkedAbortController([], 1)
    const open = new LinkedAbortController([], 1)
    open.clearTimeout()
    await new Promise((resolve) => timed.signal.addEventListener('abort', resolve))
    expect([timed.isTimedOut, timed.signal.reason.name]).toEqual([true, 'TimeoutError'])
    expect(open.signal.aborted).toBe(false)
  })

  test('follows no source and no time once it is closed', () => {
    const source = new AbortController()
    const linked = new LinkedAbortController([source.signal], 0)
    linked.close()
    source.abort()
    expect(linked.signal.aborted).toBe(false)
  })

  test('stays on the heap no longer than its sources, whatever listens to it', () => {
    const countSignals = () => {
      Bun.gc(true)
      const counts: Record<string, number> = heapStats().objectTypeCounts
      return counts.AbortSignal ?? 0
    }
    const before = countSignals()
    for (let index = 0; index < 200; index++) {
      const source = new AbortController()
      const { signal } = new LinkedAbortController([source.signal])
      signal.addEventListener('abort', () => source.abort())
    }
    expect(countSignals() - before).toBeLessThan(100)
  })
})
