import { expect, test } from 'bun:test'
import { listMarks } from './time-axis.ts'

const start = new Date(2030, 0, 15, 9, 20).getTime()
const hour = 3_600_000

test('marks are at full hours, inside the axis and in order', () => {
  const marks = listMarks(start, start + 6 * hour, 8)
  expect(marks.map(({ time }) => new Date(time).getHours())).toEqual([10, 11, 12, 13, 14, 15])
  expect(marks.every(({ time }) => new Date(time).getMinutes() === 0)).toBe(true)
  for (const { left } of marks) {
    expect(left).toBeGreaterThanOrEqual(0)
    expect(left).toBeLessThan(100)
  }
})

test('a month has days, and a minute has seconds', () => {
  const days = listMarks(start, start + 30 * 24 * hour, 8)
  expect(days.length).toBeGreaterThan(3)
  expect(days.every(({ time }) => new Date(time).getHours() < 2)).toBe(true)
  expect(listMarks(start, start + 60_000, 8).length).toBeGreaterThan(3)
})

test('there are never more marks than there is room for', () => {
  for (const span of [1, 999, 60_000, hour, 100 * hour, 10_000 * hour, 1_000_000 * hour])
    expect(listMarks(start, start + span, 6).length).toBeLessThanOrEqual(6)
})
