import { expect, test } from 'bun:test'
import { HourlyMedians, hourMs } from './hourly-medians.ts'

const atHour = (hour: number, minute = 0) => hour * hourMs + minute * 60_000

test('the median of each hour, the current one included', () => {
  const medians = new HourlyMedians()
  for (const value of [100, 100, 900]) medians.add(atHour(1000, 5), value)
  medians.add(atHour(1001, 59), 400)
  expect(medians.get(1000)).toBeCloseTo(100, -1)
  expect(medians.get(1001)).toBeWithin(380, 420)
  expect(medians.get(999)).toBeNull()
  expect(medians.get(1002)).toBeNull()
})

test('an hour without values has none, and only 24 finished hours are kept', () => {
  const medians = new HourlyMedians()
  for (let hour = 1000; hour < 1030; hour += 1) if (hour !== 1020) medians.add(atHour(hour), 50)
  expect(medians.get(1020)).toBeNull()
  expect(medians.get(1003)).toBeNull()
  expect(medians.get(1004)).not.toBeNull()
  expect(medians.get(1029)).not.toBeNull()
})

test('values after the clock was set back replace those of that hour', () => {
  const medians = new HourlyMedians()
  medians.add(atHour(1000), 100)
  medians.add(atHour(1001), 100)
  medians.add(atHour(1000), 800)
  expect(medians.get(1000)).toBeGreaterThan(700)
})
