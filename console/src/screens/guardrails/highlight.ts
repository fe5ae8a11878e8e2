export interface Position {
  start: number
  end: number
}

export interface Segment {
  start: number
  text: string
  isMatch: boolean
}

/** The text cut at the matches, which may overlap. */
export function splitByMatches(text: string, positions: Position[]): Segment[] {
  const segments: Segment[] = []
  let done = 0
  for (const { start, end } of positions.toSorted((a, b) => a.start - b.start)) {
    const from = Math.max(start, done)
    if (end <= from) continue
    if (from > done) segments.push({ start: done, text: text.slice(done, from), isMatch: false })
    segments.push({ start: from, text: text.slice(from, end), isMatch: true })
    done = end
  }
  if (done < text.length) segments.push({ start: done, text: text.slice(done), isMatch: false })
  return segments
}
