import { type ImportDocument, SourceError } from './source.ts'

export type JsonRecord = Readonly<Record<string, unknown>>

const maxDepth = 6
const maxRecords = 20_000

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The records in a saved response of an API, whatever envelope they are in. */
export function listRecords(
  document: ImportDocument,
  isWanted: (record: JsonRecord) => boolean,
): JsonRecord[] {
  const found: JsonRecord[] = []
  const visit = (value: unknown, depth: number): void => {
    if (depth > maxDepth) return
    if (isRecord(value) && isWanted(value)) found.push(value)
    else if (Array.isArray(value)) for (const item of value) visit(item, depth + 1)
    else if (isRecord(value)) for (const inner of Object.values(value)) visit(inner, depth + 1)
    if (found.length > maxRecords)
      throw new SourceError(`${document.name} has more than ${maxRecords} records.`)
  }
  visit(document.value, 0)
  return found
}
