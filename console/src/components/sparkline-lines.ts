interface Size {
  width: number
  height: number
}

const margin = 2

/** The points of each line: a gap in the values ends one. The scale begins at zero. */
export function linesOf(values: (number | null)[], { width, height }: Size): string[] {
  const top = Math.max(...values.map((value) => value ?? 0), 0)
  const step = (width - 2 * margin) / Math.max(values.length - 1, 1)
  const lines: string[][] = [[]]
  for (const [index, value] of values.entries()) {
    if (value === null) {
      lines.push([])
      continue
    }
    const y = height - margin - (top === 0 ? 0 : (value / top) * (height - 2 * margin))
    lines.at(-1)?.push(`${round(margin + index * step)},${round(y)}`)
  }
  // A single point is drawn as a dot: a line to itself.
  return lines
    .filter((points) => points.length > 0)
    .map((points) => (points.length === 1 ? [...points, ...points] : points).join(' '))
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
