import { parse } from 'papaparse'
import type { ApiKey } from './key-fields.ts'

/** Keys that are created in one go. */
export const maxKeys = 200

/** A line of a pasted list. Null has the value of the form. */
export interface KeyRow {
  name: string
  limit: number | null
  limitReset: ApiKey['limit_reset']
  tier: string | null
  /** An e-mail address. */
  owner: string | null
  /** A day, such as `2027-01-31`. */
  expires: string | null
}

const columns = ['name', 'limit', 'limit_reset', 'tier', 'owner', 'expires']

/** Reads names, one per line, or CSV whose first line names its columns. */
export function parseKeyTable(text: string): { rows: KeyRow[] } | { problem: string } {
  const lines = parse<string[]>(text.trim(), { skipEmptyLines: 'greedy' }).data.map((cells) =>
    cells.map((cell) => cell.trim()),
  )
  const header = lines[0]?.map((cell) => cell.toLowerCase()) ?? []
  const hasHeader = header.includes('name')
  if (!hasHeader && lines.some(({ length }) => length > 1))
    return { problem: `The first line has to name the columns: ${columns.join(', ')}.` }
  const unknown = hasHeader ? header.find((column) => !columns.includes(column)) : undefined
  if (unknown !== undefined) return { problem: `There is no column ${unknown}.` }
  const records = lines
    .slice(hasHeader ? 1 : 0)
    .map(
      (cells) => (column: string) =>
        cells[hasHeader ? header.indexOf(column) : columns.indexOf(column)] || null,
    )
  if (records.length > maxKeys) return { problem: `At most ${maxKeys} keys at a time.` }
  const rows: KeyRow[] = []
  for (const [index, cell] of records.entries()) {
    const row = readRow(cell)
    if ('problem' in row) return { problem: `Key ${index + 1}: ${row.problem}` }
    rows.push(row)
  }
  return { rows }
}

function readRow(cell: (column: string) => string | null): KeyRow | { problem: string } {
  const [name, limit, reset, expires] = [cell('name'), cell('limit'), cell('limit_reset'), cell('expires')]
  if (name === null) return { problem: 'the name is missing.' }
  const amount = limit === null ? null : Number(limit.replace(/^\$/, ''))
  if (amount !== null && !(amount >= 0)) return { problem: `${limit} is not an amount in dollars.` }
  if (reset !== null && reset !== 'daily' && reset !== 'weekly' && reset !== 'monthly')
    return { problem: 'limit_reset has to be daily, weekly or monthly.' }
  if (expires !== null && !/^\d{4}-\d{2}-\d{2}$/.test(expires))
    return { problem: 'expires has to be a day, such as 2027-01-31.' }
  return { name, limit: amount, limitReset: reset, tier: cell('tier'), owner: cell('owner'), expires }
}
