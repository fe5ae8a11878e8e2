import { expect, test } from 'bun:test'
import { findSeriesAt, stackSeries } from './chart-stack.ts'

const times = [0, 1]
const series = [
  { label: 'a', values: [1, 4] },
  { label: 'b', values: [2, 0] },
  { label: 'before', values: [9, 9], isDashed: true },
]

test('bars stand on each other, the highest drawn first, and a comparison is a line over them', () => {
  const drawn = stackSeries({ times, series, kind: 'bars' })
  expect(drawn.map(({ position, values, isLine }) => [position, values, isLine])).toEqual([
    [1, [3, 4], false],
    [0, [1, 4], false],
    [2, [9, 9], true],
  ])
})

test('the highlighted series stands on the axis', () => {
  const drawn = stackSeries({ times, series, kind: 'bars' }, 1)
  expect(drawn.map(({ position, values }) => [position, values]).slice(0, 2)).toEqual([
    [0, [3, 4]],
    [1, [2, 0]],
  ])
})

test('a point belongs to the bar it is in, and to none above all of them', () => {
  const drawn = stackSeries({ times, series, kind: 'bars' })
  const findAt = (index: number, value: number) =>
    findSeriesAt(drawn, { series }, { index, value, tolerance: 1 })
  expect([findAt(0, 0.5), findAt(0, 2), findAt(1, 3), findAt(0, 8)]).toEqual([0, 1, 0, null])
})

test('a point belongs to the nearest line, if it is near', () => {
  const drawn = stackSeries({ times, series, kind: 'lines' })
  const findAt = (value: number) => findSeriesAt(drawn, { series }, { index: 0, value, tolerance: 1 })
  expect([findAt(1.9), findAt(0.8), findAt(5)]).toEqual([1, 0, null])
})
