import { CsvError, parse } from 'csv-parse/sync'
import { splitTag } from '../../../governance/tags/tag.ts'
import { flattenIssues } from '../../../platform/validation/validation-issues.ts'
import { type ImportedKey, importedKey } from '../../identity/keys/imported-key.ts'
import { SourceError } from '../source.ts'

export const keyFileFormats = ['csv', 'jsonl'] as const
export type KeyFileFormat = (typeof keyFileFormats)[number]

/** What one command imports in one transaction. */
const maxKeys = 10_000
/** Of one line. */
const maxRecordLength = 64 * 1024

/** A key of a file, or why its line is not one. */
export type KeyLine = { line: number; key: ImportedKey } | { line: number; name: string; problem: string }

/** Reads the keys of a file. No message quotes a value: it may be a secret. */
export function parseKeyFile(text: string, format: KeyFileFormat): KeyLine[] {
  const records = format === 'csv' ? parseCsv(text) : parseJsonLines(text)
  if (records.length === 0) throw new SourceError('The file has no keys.')
  if (records.length > maxKeys)
    throw new SourceError(
      `The file has more than ${maxKeys} keys. Split it into files of at most ${maxKeys}.`,
    )
  return records.map(toKeyLine)
}

interface FileRecord {
  line: number
  /** Undefined if it is not JSON. */
  value: unknown
}

function toKeyLine({ line, value }: FileRecord): KeyLine {
  const result = importedKey.safeParse(value)
  if (result.success) return { line, key: result.data }
  const problem =
    value === undefined
      ? 'is not JSON'
      : flattenIssues(result.error)
          .map(({ path, message }) => `${path.join('.') || 'the line'}: ${message}`)
          .join('; ')
  return { line, name: findName(value), problem }
}

function findName(value: unknown): string {
  const name = typeof value === 'object' && value !== null && 'name' in value ? value.name : ''
  return typeof name === 'string' ? name : ''
}

function parseJsonLines(text: string): FileRecord[] {
  return text
    .split('\n')
    .entries()
    .filter(([, line]) => line.trim() !== '')
    .take(maxKeys + 1)
    .map(([index, line]) => ({ line: index + 1, value: parseJson(line) }))
    .toArray()
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const amounts: ReadonlySet<string> = new Set(['limit', 'spend', 'spend_in_window'])
const flags: ReadonlySet<string> = new Set(['disabled', 'include_byok_in_limit'])
const flagValues: ReadonlyMap<string, boolean> = new Map([
  ...['true', 'yes', '1'].map((text) => [text, true] as const),
  ...['false', 'no', '0'].map((text) => [text, false] as const),
])

/** The first line names the columns, which are the fields of a key. An empty cell is a field that is not sent. */
function parseCsv(text: string): FileRecord[] {
  try {
    const rows = parse(text, {
      bom: true,
      columns: true,
      info: true,
      max_record_size: maxRecordLength,
      skip_empty_lines: true,
      to: maxKeys + 1,
      trim: true,
    }) as CsvRow[]
    return rows.map(({ record, info }) => ({
      line: info.lines,
      value: Object.fromEntries(
        Object.entries(record).flatMap(([name, cell]) =>
          cell === '' ? [] : [[name, decodeCell(name, cell)] as const],
        ),
      ),
    }))
  } catch (error) {
    if (error instanceof CsvError)
      throw new SourceError(`The file is not CSV (${error.code}, line ${error.lines}).`)
    throw error
  }
}

interface CsvRow {
  record: Record<string, string>
  info: { lines: number }
}

function decodeCell(name: string, cell: string): unknown {
  if (amounts.has(name)) return Number(cell)
  if (flags.has(name)) return flagValues.get(cell.toLowerCase()) ?? cell
  if (name === 'tags') return { set: Object.fromEntries(cell.split(/[;,]/).map(toTagEntry)) }
  return cell
}

function toTagEntry(text: string): [string, string] {
  const { name, value } = splitTag(text)
  return [name, value]
}
