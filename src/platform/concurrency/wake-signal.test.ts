import { expect, test } from 'bun:test'
import { WakeSignal } from './wake-signal.ts'

test('many requests in a row start the work once, and a later one starts it again', async () => {
  const signal = new WakeSignal(5)
  let runs = 0
  let started = Promise.withResolvers<void>()
  signal.wake()
  signal.listen(() => {
    runs++
    started.resolve()
  })
  for (let index = 0; index < 10; index++) signal.wake()
  await started.promise
  expect(runs).toBe(1)
  started = Promise.withResolvers<void>()
  signal.wake()
  await started.promise
  expect(runs).toBe(2)
})
