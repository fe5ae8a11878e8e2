/** The share of the earlier value; undefined if there was nothing before. */
export function changeBetween(value: number | null, previous: number | null): number | undefined {
  if (value === null || previous === null || previous === 0) return undefined
  return (value - previous) / previous
}
