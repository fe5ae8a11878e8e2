import type { SegmentLevel } from './levels.ts'
import type { SegmentRow } from './segment-store.ts'

/** The segments of one level and day. */
export interface LevelRows {
  level: SegmentLevel
  rows: SegmentRow[]
  size: number
  /** Null for a level that is older than the number. */
  requests: number | null
}

/** The levels that have all requests of a day: one that was added later lacks those of before. */
export function selectComplete(ofDay: readonly SegmentRow[]): LevelRows[] {
  const levels = [...Map.groupBy(ofDay, ({ level }) => level)].map(([level, rows]): LevelRows => {
    const size = rows.reduce((sum, row) => sum + row.size, 0)
    return { level, rows, size, requests: level === 'request' ? size : sumRequests(rows) }
  })
  const counts = levels.flatMap(({ requests }) => requests ?? [])
  const isCounted = counts.length === levels.length || levels.some(({ level }) => level === 'request')
  const all = Math.max(...counts)
  return levels.filter(({ requests }) => requests === null || (isCounted && requests === all))
}

/** Null if one of them does not say it. */
export function sumRequests(rows: readonly SegmentRow[]): number | null {
  let sum = 0
  for (const { requests } of rows) {
    if (requests === null) return null
    sum += requests
  }
  return sum
}
