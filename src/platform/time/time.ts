/** UTC with seconds: the API rejects minute precision and other time zones. */
export const utcPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$/

export function isUtcTimestamp(text: string): boolean {
  if (!utcPattern.test(text)) return false
  const time = Date.parse(text)
  // Date.parse rolls 30 February over to March: the round trip detects it.
  return !Number.isNaN(time) && new Date(time).toISOString().slice(0, 19) === text.slice(0, 19)
}

const dayMs = 86_400_000

export function utcDay(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}

export function utcMinute(time: number): string {
  return new Date(time).toISOString().slice(0, 16)
}

/** Weeks begin on Monday. */
export function utcWeekStart(time: number): string {
  const daysSinceMonday = (new Date(time).getUTCDay() + 6) % 7
  return utcDay(time - daysSinceMonday * dayMs)
}

export function utcMonthStart(time: number): string {
  return `${utcDay(time).slice(0, 7)}-01`
}
