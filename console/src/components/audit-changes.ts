import { formatMoney } from '../format/money.ts'

export interface FieldChange {
  field: string
  /** Undefined if there was none. */
  before: unknown
  after: unknown
}

type Values = Record<string, unknown> | null | undefined

/** The fields that differ, in the order of the record. A record that is made or deleted has all of its fields. */
export function listChanges(before: Values, after: Values): FieldChange[] {
  const fields = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])
  return [...fields]
    .map((field) => ({ field, before: before?.[field], after: after?.[field] }))
    .filter((change) => JSON.stringify(change.before ?? null) !== JSON.stringify(change.after ?? null))
}

const nanosPerDollar = 1_000_000_000
const moneyField = /_nanos$/
/** Columns that store 0 or 1. */
const flagField = /^(is|include|enforce|enable)_|^(enabled|disabled|dry_run|locked)$/

const labels: Record<string, string> = {
  limit_nanos: 'limit',
  limit_reset: 'reset of the limit',
  reset_interval: 'reset',
  tag_rules: 'tag rules',
  tier: 'tier',
  role: 'role',
  allowed_models: 'allowed models',
  ignored_models: 'excluded models',
  allowed_providers: 'allowed providers',
  ignored_providers: 'excluded providers',
  allowed_data_regions: 'allowed regions',
}

/** The name of a field in a sentence. */
export function labelOf(field: string): string {
  return labels[field] ?? field.replace(moneyField, '').replaceAll('_', ' ')
}

/** A value of any kind as text. */
export function formatValue(value: unknown, field = ''): string {
  if (value === undefined || value === null) return '–'
  if (moneyField.test(field) && Number.isFinite(Number(value)))
    return formatMoney(Number(value) / nanosPerDollar)
  if (flagField.test(field) && (value === 0 || value === 1)) return value === 1 ? 'on' : 'off'
  if (typeof value !== 'string') return JSON.stringify(value)
  return formatList(value) ?? value
}

/** A stored list of names as text. */
function formatList(text: string): string | null {
  if (!text.startsWith('[')) return null
  try {
    const value: unknown = JSON.parse(text)
    const isNames = Array.isArray(value) && value.every((item) => typeof item === 'string')
    return isNames ? value.join(', ') : null
  } catch {
    return null
  }
}
