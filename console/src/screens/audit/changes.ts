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

/** A value of any kind as text. */
export function formatValue(value: unknown): string {
  if (value === undefined || value === null) return '–'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
