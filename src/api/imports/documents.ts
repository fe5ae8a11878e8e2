import { z } from 'zod'
import { assertJsonBoundsInSlices } from '../../platform/json/json-bounds.ts'
import { JsonError } from '../../platform/json/json-error.ts'
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
const maxJsonValues = 1_000_000

/**
 * Reads a file by its contents: a SQLite database, an SQL dump, JSON, YAML, or a list of keys. Parsing YAML cannot be
 * interrupted and is slow: a server accepts only so many characters of it.
 */
export async function readDocument(
  { name, bytes }: SourceFile,
  tables: Iterable<string>,
  maxYamlLength = Number.POSITIVE_INFINITY,
): Promise<ImportDocument> {
  if (isSqliteFile(bytes))
    return { name, text: null, value: undefined, tables: await runInSlices(readSqliteTables(bytes, tables)) }
  const text = decodeText(name, bytes)
  if (isSqlDump(text))
    return { name, text: null, value: undefined, tables: await runInSlices(readSqlDump(text, tables)) }
  return { name, text, value: await parseValue(name, text, maxYamlLength), tables: noTables }
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
async function parseValue(name: string, text: string, maxYamlLength: number): Promise<unknown> {
  if (/\.(csv|jsonl|ndjson)$/i.test(name)) return undefined
  if (/^\s*[[{]/.test(text)) return parseJson(name, text)
  if (text.length > maxYamlLength)
    throw new SourceError(
      `${name} is YAML of more than ${maxYamlLength / 1024} KiB: use headgate import. The name of a list of keys ends with .csv or .jsonl.`,
    )
  try {
    return parseYaml(text, name, z.unknown(), null)
  } catch (error) {
    if (error instanceof YamlError) throw new SourceError(error.message)
    throw error
  }
}

async function parseJson(name: string, text: string): Promise<unknown> {
  try {
    await assertJsonBoundsInSlices(text, maxJsonValues)
    return JSON.parse(text)
  } catch (error) {
    const [first = ''] = text.trimStart().split('\n', 1)
    if (error instanceof SyntaxError && /^\{.*\}$/.test(first.trim())) return undefined
    if (error instanceof JsonError) throw new SourceError(`${name} is ${error.message}.`)
    throw new SourceError(`${name} is not JSON.`)
  }
}
