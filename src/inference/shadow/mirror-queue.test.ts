import { expect, test } from 'bun:test'
import { MirrorQueue, type WaitingMirror } from './mirror-queue.ts'

function createMirror(changes: Partial<WaitingMirror> = {}) {
  const started = Promise.withResolvers<AbortSignal>()
  const end = Promise.withResolvers<void>()
  let drops = 0
  const mirror: WaitingMirror = {
    shadowId: 'one',
    concurrency: 1,
    bytes: 1,
    run: (signal) => {
      started.resolve(signal)
      return end.promise
    },
    drop: () => {
      drops++
    },
    ...changes,
  }
  return { mirror, started: started.promise, end: end.resolve, countDrops: () => drops }
}

test('as many run as each shadow allows, the oldest first, and one shadow does not hold up another', async () => {
  const queue = new MirrorQueue()
  const [first, second, other] = [createMirror(), createMirror(), createMirror({ shadowId: 'two' })]
  for (const { mirror } of [first, second, other]) expect(queue.add(mirror)).toBe(true)
  await Promise.all([first.started, other.started])
  expect(queue.size).toBe(3)
  first.end()
  await second.started
  second.end()
  other.end()
  await queue.idle()
  expect(queue.size).toBe(0)
})

test('too many, or too many bytes, are not added', async () => {
  const queue = new MirrorQueue()
  const large = createMirror({ bytes: 64 * 1024 * 1024 })
  expect(queue.add(large.mirror)).toBe(true)
  expect(queue.add(createMirror().mirror)).toBe(false)
  large.end()
  await queue.idle()
  const many = Array.from({ length: 1001 }, () => createMirror())
  expect(many.filter(({ mirror }) => queue.add(mirror))).toHaveLength(1000)
  for (const { end } of many) end()
  await queue.idle()
})

test('when it is closed, what waits is dropped, what runs is ended, and nothing is added', async () => {
  const queue = new MirrorQueue()
  const [first, second] = [createMirror(), createMirror()]
  queue.add(first.mirror)
  const signal = await first.started
  queue.add(second.mirror)
  signal.addEventListener('abort', () => first.end())
  await queue.close(0)
  expect(signal.aborted).toBe(true)
  expect(second.countDrops()).toBe(1)
  expect(queue.add(createMirror().mirror)).toBe(false)
})
