import { expect, test } from 'bun:test'
import { BackgroundRuns, EventLog } from './background.ts'

test('readers of a log get every event from where they begin, and its end', async () => {
  const log = new EventLog()
  log.append('a')
  const late = log.at(1)
  log.append('b')
  log.end()
  log.append('after the end')
  expect([await log.at(0), await late, await log.at(2)]).toEqual(['a', 'b', null])
})

test('a log does not grow without end', async () => {
  const log = new EventLog()
  const megabyte = 'x'.repeat(1024 * 1024)
  for (let count = 0; count < 20; count++) log.append(megabyte)
  expect(await log.at(0)).toBeNull()
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
