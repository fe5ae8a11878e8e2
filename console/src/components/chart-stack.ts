import type { ChartData } from './chart-data.ts'

type StackedData = Pick<ChartData, 'times' | 'series' | 'kind'>

/** A series as it is drawn: bars stand on those of the series before. */
export interface DrawnSeries {
  /** Its place in the data. */
  position: number
  values: (number | null)[]
  isLine: boolean
}

/** Series in the order of drawing: the highest bars first, and lines over all of them. */
export function stackSeries(
  { times, series, kind }: StackedData,
  highlighted: number | null = null,
): DrawnSeries[] {
  const heights = times.map(() => 0)
  // The highlighted series stands on the axis, where its values can be compared.
  const order = [...series.keys()].sort((a, b) => Number(b === highlighted) - Number(a === highlighted))
  const drawn = order.map((position): DrawnSeries => {
    const { values = [], isDashed = false } = series[position] ?? {}
    if (kind === 'lines' || isDashed) return { position, values: [...values], isLine: true }
    for (const at of times.keys()) heights[at] = (heights[at] ?? 0) + (values[at] ?? 0)
    return { position, values: [...heights], isLine: false }
  })
  return [
    ...drawn.filter(({ isLine }) => !isLine).reverse(),
    ...drawn.filter(({ isLine }) => isLine).reverse(),
  ]
}

export interface ChartPoint {
  /** The bucket. */
  index: number
  value: number
  /** The largest distance to a line that still means the line. */
  tolerance: number
}

/** The place of the series at a point of the chart; null if it is beside all of them. */
export function findSeriesAt(
  drawn: readonly DrawnSeries[],
  { series }: Pick<ChartData, 'series'>,
  { index, value, tolerance }: ChartPoint,
): number | null {
  const bars = drawn.filter(({ isLine }) => !isLine)
  const bar = bars.findLast(({ values }) => (values[index] ?? 0) >= value)
  if (bar) return bar.position
  const distances = drawn
    .filter(({ isLine, position }) => isLine && !series[position]?.isDashed)
    .map(({ position, values }) => {
      const own = values[index]
      const distance = typeof own === 'number' ? Math.abs(own - value) : Number.POSITIVE_INFINITY
      return { position, distance }
    })
    .sort((a, b) => a.distance - b.distance)
  const [nearest] = distances
  return nearest && nearest.distance <= tolerance ? nearest.position : null
}
