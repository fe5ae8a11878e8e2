import type { AuditEvent, AuditRecord } from './entry.ts'

/** Columns whose values are secret, or the hash of a secret. */
const secretColumn = /^sealed_|secret|password|token|(?:^|_)hash$|code_challenge|private/

const maxTextLength = 2000
const mask = '[masked]'

/** The stored form of a change: JSON with the fields that differ, or null. */
export function encodeChanges({ before, after, details }: AuditEvent): string | null {
  const parts = {
    ...((before || after) && diff(before ?? null, after ?? null)),
    ...(details && { details: maskRecord(details) }),
  }
  return Object.keys(parts).length === 0 ? null : JSON.stringify(parts)
}

function diff(before: AuditRecord | null, after: AuditRecord | null) {
  if (!before || !after) {
    return { before: before && maskRecord(before), after: after && maskRecord(after) }
  }
  const changed = Object.keys({ ...before, ...after }).filter(
    (name) => toText(before[name]) !== toText(after[name]),
  )
  return { before: maskRecord(pick(before, changed)), after: maskRecord(pick(after, changed)) }
}

function pick(record: AuditRecord, names: string[]): AuditRecord {
  return Object.fromEntries(names.filter((name) => name in record).map((name) => [name, record[name]]))
}

function maskRecord(record: AuditRecord): AuditRecord {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [name, toStored(name, value)] as const),
  )
}

function toStored(name: string, value: unknown): unknown {
  if (value === null || value === undefined) return null
  if (secretColumn.test(name)) return mask
  if (typeof value === 'number' || typeof value === 'boolean') return value
  return toText(value).slice(0, maxTextLength)
}

function toText(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null')
}
