import type { Db } from '../../platform/db/db.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import type { AuditEntry } from './entry.ts'
import { toAuditRecord } from './record.ts'
import { type AuditSelection, matchesSelection, walkEntries } from './store.ts'

export const exportFormats = ['csv', 'jsonl'] as const
export type ExportFormat = (typeof exportFormats)[number]

export const exportContentTypes: Record<ExportFormat, string> = {
  csv: 'text/csv; charset=utf-8',
  jsonl: 'application/x-ndjson',
}

const columns = [
  'created_at',
  'chain_id',
  'seq',
  'id',
  'action',
  'outcome',
  'actor_type',
  'actor_id',
  'actor_name',
  'target_type',
  'target_id',
  'target_name',
  'workspace_id',
  'ip',
  'user_agent',
  'request_id',
  'changes',
  'previous_hash',
  'hash',
] as const satisfies (keyof AuditEntry)[]

/** The matching entries as text, newest first. A reader that is slow slows the database down. */
export async function* exportEntries(
  db: Db,
  selection: AuditSelection,
  format: ExportFormat,
  onProgress: (entries: number) => void = () => undefined,
): AsyncGenerator<string> {
  if (format === 'csv') yield `${columns.join(',')}\r\n`
  const encode = format === 'csv' ? encodeCsv : encodeJson
  let count = 0
  for await (const batch of walkEntries(db, selection, null)) {
    const matching = batch.filter((entry) => matchesSelection(selection, entry))
    count += matching.length
    if (matching.length > 0) yield matching.map(encode).join('')
    onProgress(count)
    await yieldToEventLoop()
  }
}

function encodeJson(entry: AuditEntry): string {
  return `${JSON.stringify(toAuditRecord(entry))}\n`
}

function encodeCsv(entry: AuditEntry): string {
  return `${columns.map((name) => encodeCell(entry[name])).join(',')}\r\n`
}

/** Spreadsheets run a cell that begins so as a formula; names and addresses come from callers. */
const formulaStart = /^\s*[=+\-@\t\r]/

function encodeCell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = formulaStart.test(value) ? `'${value}` : value
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
