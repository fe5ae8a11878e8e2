import { expect, test } from 'bun:test'
import { BackgroundRuns, EventLog } from './background-runs.ts'

test('readers of a log get every event from their start, and its end', async () => {
  const log = new EventLog()
  log.append('a')
  const late = log.read(1)
  log.append('b')
  log.end()
  log.append('after the end')
  expect(await log.read(0)).toEqual({ event: 'a', next: 1 })
  expect(await late).toEqual({ event: 'b', next: 2 })
  expect(await log.read(2)).toBeNull()
})

test('the size of a log is bounded', async () => {
  const log = new EventLog()
  const megabyte = 'x'.repeat(1024 * 1024)
  const early = log.read(3)
  for (let count = 0; count < 20; count++) log.append(megabyte)
  const late = log.read(3)
  log.append('the end', true)
  log.end()
  expect((await early)?.next).toBeGreaterThan(3)
  expect(await late).toEqual({ event: 'the end', next: 21 })
  expect(await log.read(21)).toBeNull()
})

test('the total size of the logs of a node is bounded, and ended logs free their share', () => {
  const budget = { used: 0 }
  const megabyte = 'x'.repeat(1024 * 1024)
  const logs = Array.from({ length: 20 }, () => new EventLog(budget))
  for (const log of logs) for (let count = 0; count < 10; count++) log.append(megabyte)
  expect(budget.used).toBeLessThanOrEqual(128 * megabyte.length)
  for (const log of logs) log.end()
  expect(budget.used).toBe(0)
})

test('a complete reply cannot be canceled, and a canceled one cannot complete', () => {
  const runs = new BackgroundRuns()
  const [first, second] = [runs.start('first'), runs.start('second')]
  first.stop('cancelled')
  expect([first.complete(), second.complete()]).toEqual([false, true])
})

test('a drain waits for runs, and stops those that take too long', async () => {
  const runs = new BackgroundRuns()
  const [quick, slow] = [runs.start('quick'), runs.start('slow')]
  slow.signal.addEventListener('abort', () => slow.finish())
  quick.finish()
  await runs.drain(1)
  expect([quick.stopReason, slow.stopReason]).toEqual([null, 'shutdown'])
  expect(runs.get('slow')).toBeUndefined()
})
