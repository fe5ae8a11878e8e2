const dayMs = 86_400_000

export interface DayUsage {
  day: string
  requests: number
  spent: number
}

/** The last days in UTC, oldest first, as `2026-11-16`. */
export function listDays(count: number, now = Date.now()): string[] {
  return Array.from({ length: count }, (_, index) =>
    new Date(now - (count - 1 - index) * dayMs).toISOString().slice(0, 10),
  )
}

/** A day without requests has no row. */
export function fillDays(days: string[], rows: Record<string, string | number | null>[]): DayUsage[] {
  const byDay = new Map(rows.map((row) => [String(row.date__day), row]))
  return days.map((day) => ({
    day,
    requests: Number(byDay.get(day)?.request_count ?? 0),
    spent: Number(byDay.get(day)?.total_usage ?? 0),
  }))
}
