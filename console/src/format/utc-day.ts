/** The end of a day in UTC; null for no date. */
export function readUtcDay(date: string): string | null {
  return date === '' ? null : `${date}T23:59:59Z`
}
