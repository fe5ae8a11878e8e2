export interface ChartSeries {
  label: string
  /** One for each time; null is a gap. */
  values: readonly (number | null)[]
  /** Dashes a line that only serves for comparison, such as an earlier period. */
  isDashed?: boolean
  /** Gray, for what has no color of its own. */
  isRest?: boolean
}

/** Keep the same objects between renderings, with `useMemo`: new ones are drawn again. */
export interface ChartData {
  /** The beginning of each bucket, in milliseconds; a few hundred at most. */
  times: readonly number[]
  bucketMs: number
  series: readonly ChartSeries[]
  /** Bars are stacked. */
  kind: 'bars' | 'lines'
  format: (value: number) => string
  /** Labels of the axis, if there is no room for the unit. */
  formatAxis?: ((value: number) => string) | undefined
}
