import { resolveTimeFilter } from '../../components/filter-time.ts'

/** The filters of the list. They are kept in the address, with the names that the API has. */
export interface RequestSearch {
  period?: Period
  /** The range that other screens set instead of a period. */
  from?: string
  to?: string
  model?: string
  provider?: string
  key?: string
  user_id?: string
  workspace_id?: string
  status?: string
  error_code?: string
  format?: string
  app?: string
  session_id?: string
  external_user?: string
  tag?: string
  min_cost?: string
  max_cost?: string
  min_latency?: string
  max_latency?: string
  id?: string
  request_id?: string
  upstream_id?: string
  /** Words of the logged prompt or reply. */
  text?: string
}

export const periods = { '1h': 1, '24h': 24, '7d': 168, '30d': 720, all: null } as const
export type Period = keyof typeof periods
export const defaultPeriod: Period = '24h'

export const statuses = ['completed', 'failed', 'cancelled', 'refused'] as const

/** Relative ones are resolved when the list is read. */
const timePattern = /^(\d{1,4}[mhdw]|now|today|yesterday|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z)$/

/** Accepted by the API: anything else in an address is left out. */
const patterns: Record<Exclude<keyof RequestSearch, 'period'>, RegExp> = {
  from: timePattern,
  to: timePattern,
  model: /^.{1,256}$/,
  provider: /^.{1,256}$/,
  key: /^.{1,256}$/,
  user_id: /^.{1,256}$/,
  workspace_id:
    /^!?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(,!?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}){0,50}$/i,
  status:
    /^!?(completed|failed|cancelled|refused|error|[45]\d\d)(,!?(completed|failed|cancelled|refused|error|[45]\d\d))*$/,
  error_code: /^.{1,256}$/,
  format: /^.{1,256}$/,
  app: /^.{1,256}$/,
  session_id: /^.{1,256}$/,
  external_user: /^.{1,256}$/,
  tag: /^.{1,256}$/,
  min_cost: /^\d{1,9}(\.\d{1,9})?$/,
  max_cost: /^\d{1,9}(\.\d{1,9})?$/,
  min_latency: /^\d{1,9}$/,
  max_latency: /^\d{1,9}$/,
  id: /^.{1,256}$/,
  request_id: /^.{1,256}$/,
  upstream_id: /^.{1,256}$/,
  text: /^(?=.*[\p{L}\p{N}]).{1,256}$/u,
}

export type FilterName = keyof typeof patterns
export const filterNames = Object.keys(patterns) as FilterName[]

export function isValidFilter(name: FilterName, value: string): boolean {
  return patterns[name].test(value)
}

export function readSearch(raw: Record<string, unknown>): RequestSearch {
  const search: RequestSearch = {}
  if (typeof raw.period === 'string' && Object.hasOwn(periods, raw.period)) {
    search.period = raw.period as Period
  }
  for (const name of filterNames) {
    const value = raw[name]
    // The router reads a number in the address as a number.
    const text = typeof value === 'number' ? formatPlain(value) : value
    if (typeof text === 'string' && isValidFilter(name, text)) search[name] = text
  }
  return search
}

/** Formats without an exponent, which the API does not accept. */
function formatPlain(value: number): string {
  return value !== 0 && Math.abs(value) < 1e-6 ? value.toFixed(9) : String(value)
}

/** The beginning of the period; null for all time. */
export function startOf(period: Period, now: number): string | null {
  const hours = periods[period]
  return hours === null ? null : new Date(now - hours * 3_600_000).toISOString()
}

/** Whether the address names the first or the last moment, and not a period. */
export function hasOwnRange({ from, to }: RequestSearch): boolean {
  return from !== undefined || to !== undefined
}

export function withoutRange({ from: _from, to: _to, ...others }: RequestSearch): RequestSearch {
  return others
}

/** The parameters of `GET /generations`. */
export function queryOf({ period = defaultPeriod, ...filters }: RequestSearch, now: number) {
  if (hasOwnRange(filters)) {
    const { from, to, ...others } = filters
    return {
      ...others,
      ...(from !== undefined && { from: resolveTimeFilter(from, now) }),
      ...(to !== undefined && { to: resolveTimeFilter(to, now) }),
    }
  }
  const from = startOf(period, now)
  return { ...filters, ...(from !== null && { from }) }
}
