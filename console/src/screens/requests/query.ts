import { escapeFilterValue } from '../../components/filter-value.ts'
import { type FilterName, isValidFilter, type RequestSearch } from './search.ts'

/** The names of fields in the search field, and the filters that they set. */
const fields: Readonly<Record<string, FilterName>> = {
  model: 'model',
  provider: 'provider',
  status: 'status',
  error: 'error_code',
  key: 'key',
  user: 'external_user',
  tag: 'tag',
  session: 'session_id',
  app: 'app',
  format: 'format',
  member: 'user_id',
  id: 'id',
  request: 'request_id',
  upstream: 'upstream_id',
}

export const fieldNames = Object.keys(fields)

/** A part of the search field that is shown as one. */
export interface Chip {
  text: string
  name: FilterName
}

/** What was typed, as filters; `problem` says what could not be read. */
export interface ParsedQuery {
  filters: RequestSearch
  problem: string | null
}

const tokenPattern = /(-?)([a-z]+)(:|>=?|<=?)("(?:[^"\\]|\\.)*"|\S+)|"[^"]*"?|\S+/gi
const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, min: 60_000 }

/** Reads `model:claude -key:checkout cost>0.01 latency>5s "text in the prompt"`. Whatever is no field is text. */
export function parseQuery(text: string): ParsedQuery {
  const filters: RequestSearch = {}
  const words: string[] = []
  for (const match of text.matchAll(tokenPattern)) {
    const [token, minus, field, operator, raw] = match
    if (field === undefined || operator === undefined || raw === undefined) {
      words.push(idFilter(token, filters) ? '' : token)
      continue
    }
    const problem =
      operator === ':'
        ? addValue(filters, minus === '-', field, unquote(raw))
        : addBound(filters, field, operator, raw)
    if (problem !== null) return { filters, problem }
  }
  const found = words.filter((word) => word !== '').join(' ')
  if (found !== '') filters.text = found
  const invalid = (Object.keys(filters) as (keyof RequestSearch)[]).find(
    (name) => name !== 'period' && !isValidFilter(name, filters[name] ?? ''),
  )
  return { filters, problem: invalid === undefined ? null : `“${filters[invalid]}” cannot be searched for.` }
}

/** A pasted id finds its request. */
function idFilter(token: string, filters: RequestSearch): boolean {
  if (!/^gen-[\w-]{6,}$/.test(token)) return false
  filters.id = token
  return true
}

function unquote(raw: string): string {
  return raw.startsWith('"') ? raw.slice(1, -1).replace(/\\(.)/g, '$1') : raw
}

function addValue(filters: RequestSearch, isExcluded: boolean, field: string, value: string): string | null {
  const name = fields[field.toLowerCase()]
  if (!name) return `There is no field “${field}”. Fields: ${fieldNames.join(', ')}, cost, latency.`
  if (value === '') return `“${field}:” needs a value.`
  const item = (isExcluded ? '!' : '') + escapeFilterValue(name === 'model' ? toModelPattern(value) : value)
  filters[name] = filters[name] === undefined ? item : `${filters[name]},${item}`
  return null
}

/** A part of a name finds the model: only a whole id has a slash. */
function toModelPattern(value: string): string {
  return value.includes('/') || value.includes('*') ? value : `*${value}*`
}

function addBound(filters: RequestSearch, field: string, operator: string, raw: string): string | null {
  const isLower = operator.startsWith('>')
  if (field.toLowerCase() === 'cost') {
    const amount = /^\$?(\d{1,9}(?:\.\d{1,9})?)$/.exec(raw)?.[1]
    if (amount === undefined) return `“${raw}” is not an amount. Example: cost>0.01`
    filters[isLower ? 'min_cost' : 'max_cost'] = amount
    return null
  }
  if (field.toLowerCase() !== 'latency') return `Only cost and latency can be compared, not “${field}”.`
  const [, digits = '', unit = 'ms'] = /^(\d+(?:\.\d+)?)(ms|s|min|m)?$/i.exec(raw) ?? []
  const factor = units[unit.toLowerCase()]
  if (digits === '' || factor === undefined) return `“${raw}” is not a duration. Example: latency>5s`
  filters[isLower ? 'min_latency' : 'max_latency'] = String(Math.round(Number(digits) * factor))
  return null
}

/** The chips of the filters that are set: each is removed as a whole. */
export function listChips(search: RequestSearch): Chip[] {
  const shown = Object.entries(fields).map(([field, name]) => ({ field: `${field}:`, name }))
  const bounds: { field: string; name: FilterName; unit?: string }[] = [
    { field: 'cost≥$', name: 'min_cost' },
    { field: 'cost≤$', name: 'max_cost' },
    { field: 'latency≥', name: 'min_latency', unit: ' ms' },
    { field: 'latency≤', name: 'max_latency', unit: ' ms' },
    { field: 'from ', name: 'from' },
    { field: 'to ', name: 'to' },
    { field: '', name: 'text' },
  ]
  return [...shown, ...bounds.map(({ unit = '', ...rest }) => ({ ...rest, unit }))].flatMap((chip) => {
    const value = search[chip.name]
    return value === undefined
      ? []
      : [{ name: chip.name, text: chip.field + value + ('unit' in chip ? chip.unit : '') }]
  })
}
