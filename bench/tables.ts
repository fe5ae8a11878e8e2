import type { Disturbance, Figure } from './summary.ts'

export type Cell = string

export function formatNumber(value: number | null | undefined, digits: number): Cell {
  return value === null || value === undefined || Number.isNaN(value) ? '-' : value.toFixed(digits)
}

export function formatMedian(figure: Figure | null | undefined, digits: number): Cell {
  return formatNumber(figure?.median, digits)
}

/** The middle half of the rounds. */
export function formatSpread(figure: Figure | null | undefined, digits: number): Cell {
  return figure ? `${figure.low.toFixed(digits)}..${figure.high.toFixed(digits)}` : '-'
}

/** An exclamation mark: too busy to believe. */
export function formatDisturbance({ share, rounds, leftOut, isDoubtful }: Disturbance): Cell {
  const percent = `${(share * 100).toFixed(0)} %`
  if (isDoubtful) return `${percent} !`
  return leftOut > 0 ? `${percent}, ${leftOut} of ${rounds} left out` : percent
}

export function formatTable(rows: Cell[][]): string {
  const columns = Math.max(...rows.map((row) => row.length))
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  )
  return rows
    .map((row) => {
      const cells = row.map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      return `  ${cells.join('  ')}`
    })
    .join('\n')
}
