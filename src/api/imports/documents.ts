import { z } from 'zod'
import { runInSlices } from '../../platform/time/time-slicer.ts'
import { parseYaml, YamlError } from '../../platform/validation/yaml.ts'
import { type ImportDocument, SourceError, type Tables } from './source.ts'
import { isSqlDump, readSqlDump } from './sql-dump.ts'
import { isSqliteFile, readSqliteTables } from './sqlite-tables.ts'

export interface SourceFile {
  name: string
  bytes: Uint8Array
}

const noTables: Tables = new Map()

/** Reads a file by its contents: a SQLite database, an SQL dump, JSON, YAML, or a list of keys. */
export async function readDocument(
  { name, bytes }: SourceFile,
  tables: Iterable<string>,
): Promise<ImportDocument> {
  if (isSqliteFile(bytes))
    return { name, text: null, value: undefined, tables: await runInSlices(readSqliteTables(bytes, tables)) }
  const text = decodeText(name, bytes)
  if (isSqlDump(text))
    return { name, text: null, value: undefined, tables: await runInSlices(readSqlDump(text, tables)) }
  return { name, text, value: parseValue(name, text), tables: noTables }
}

export function toDatabaseDocument(tables: Tables): ImportDocument {
  return { name: 'database', text: null, value: undefined, tables }
}

function decodeText(name: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new SourceError(`${name} is neither text in UTF-8 nor a SQLite database.`)
  }
}

/** Undefined for a list of keys, whose lines are read one by one. */
function parseValue(name: string, text: string): unknown {
  if (/\.(csv|jsonl|ndjson)$/i.test(name)) return undefined
  if (/^\s*[[{]/.test(text)) {
    try {
      return JSON.parse(text)
    } catch {
      if (/^\s*\{.*\}\s*$/m.test(text)) return undefined
      throw new SourceError(`${name} is not JSON.`)
    }
  }
  try {
    return parseYaml(text, name, z.unknown(), null)
  } catch (error) {
    if (error instanceof YamlError) throw new SourceError(error.message)
    throw error
  }
}
