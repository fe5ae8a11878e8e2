/** A part of the histogram: positions of buckets, both inclusive, in any order. */
export interface Brush {
  from: number
  to: number
}

/** The bucket at a position within the width. */
export function bucketAt(position: number, width: number, count: number): number {
  return Math.max(0, Math.min(count - 1, Math.floor((position / Math.max(1, width)) * count)))
}

/** The period of the chosen buckets. `starts` are their beginnings and the end of the last. */
export function periodOf(
  { from, to }: Brush,
  starts: readonly number[],
): { from: string; to: string } | null {
  const start = starts[Math.min(from, to)]
  const end = starts[Math.max(from, to) + 1]
  if (start === undefined || end === undefined || end <= start) return null
  // Shorter ones cannot be divided further.
  const last = Math.max(end, start + minSpanMs)
  return { from: new Date(start).toISOString(), to: new Date(last).toISOString() }
}

const minSpanMs = 1000

interface Move {
  step: -1 | 1
  /** Whether the other end stays. */
  isExtending: boolean
}

/** The part after an arrow key; it begins at the newest bucket. */
export function moveBrush(brush: Brush | null, { step, isExtending }: Move, count: number): Brush | null {
  if (count < 1) return null
  if (!brush) return { from: count - 1, to: count - 1 }
  const to = Math.max(0, Math.min(count - 1, brush.to + step))
  return { from: isExtending ? brush.from : to, to }
}
