import { ImportError } from './entry.ts'

/** Rows of a CSV file (RFC 4180) as objects, by the names in its first line. */
export function parseCsv(text: string): Record<string, string>[] {
  const [header = [], ...rows] = splitRows(text.replace(/^\uFEFF/, ''))
  const names = header.map((name) => name.trim())
  return rows.map((cells, index) => {
    if (cells.length !== names.length)
      throw new ImportError(`Line ${index + 2} has ${cells.length} columns instead of ${names.length}.`)
    return Object.fromEntries(names.map((name, column) => [name, cells[column] ?? '']))
  })
}

/** A cell, quoted or not, and what ends it. */
const cellPattern = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y

function splitRows(text: string): string[][] {
  const rows: string[][] = []
  let cells: string[] = []
  cellPattern.lastIndex = 0
  while (cellPattern.lastIndex < text.length) {
    const match = cellPattern.exec(text)
    if (!match) throw new ImportError(`Line ${rows.length + 1} is not valid CSV.`)
    const [, quoted, plain = '', end] = match
    cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end === ',' && cellPattern.lastIndex < text.length) continue
    if (end === ',') cells.push('')
    if (cells.length > 1 || cells[0] !== '') rows.push(cells)
    cells = []
  }
  return rows
}
