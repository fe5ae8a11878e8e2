import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Document, isNode, LineCounter, parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { type RecordKindName, recordKindNames } from '../../identity/record-kinds.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { UsageError } from '../command.ts'

/** A record as a file declares it. */
export interface ConfigurationDocument {
  kind: RecordKindName
  name: string
  workspace: string | undefined
  spec: JsonObject
  /** `file:line` of a field, or of the nearest part of the document that has it. */
  locate(path?: readonly (string | number)[]): string
}

const maxFileBytes = 4 * 1024 * 1024
const maxFiles = 2000
const maxDocuments = 20_000

const documentSchema = z.strictObject({
  kind: z.enum(recordKindNames, { error: 'must be one of the kinds that "headgate schema" lists' }),
  name: z.string().min(1).max(300),
  workspace: z.string().min(1).optional(),
  spec: z.record(z.string(), z.unknown()).default({}),
})

/** Reads files, and the YAML files of folders, in the order of their names. `-` is standard input. */
export async function readDocuments(paths: readonly string[]): Promise<ConfigurationDocument[]> {
  const files = paths.flatMap(listFiles)
  if (files.length > maxFiles) throw new UsageError(`There are more than ${maxFiles} files.`)
  const documents: ConfigurationDocument[] = []
  for (const file of files) {
    documents.push(...parseDocuments(await readText(file), file === '-' ? 'standard input' : file))
    if (documents.length > maxDocuments)
      throw new UsageError(`There are more than ${maxDocuments} documents.`)
  }
  return documents
}

function listFiles(path: string): string[] {
  if (path === '-') return [path]
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) throw new UsageError(`The file ${path} does not exist.`)
  if (!found.isDirectory()) return [path]
  const entries = readdirSync(path, { recursive: true, encoding: 'utf8' })
  return entries
    .filter((entry) => /\.ya?ml$/.test(entry))
    .sort()
    .map((entry) => join(path, entry))
}

async function readText(file: string): Promise<string> {
  const blob = file === '-' ? Bun.stdin : Bun.file(file)
  const size = file === '-' ? 0 : blob.size
  const text = size > maxFileBytes ? null : await blob.text()
  if (text === null || text.length > maxFileBytes)
    throw new UsageError(`${file} is larger than ${maxFileBytes / 2 ** 20} MiB.`)
  return text
}

export function parseDocuments(text: string, file: string): ConfigurationDocument[] {
  const lines = new LineCounter()
  const parsed = parseAllDocuments(text, { lineCounter: lines, maxAliasCount: 100 } as object)
  if (!Array.isArray(parsed)) return []
  return (parsed as unknown as Document[]).flatMap((document) => {
    const locate = locatorOf(document, lines, file)
    const [error] = document.errors
    if (error)
      throw new UsageError(
        `${file}:${lines.linePos(error.pos[0]).line}: ${error.message.split('\n')[0]?.replace(/ at line.*$/, '')}.`,
      )
    const value = toPlainValue(document, locate())
    if (value === null) return []
    const result = documentSchema.safeParse(value)
    if (!result.success) {
      const [issue] = result.error.issues
      const path = (issue?.path ?? []).map((part) => (typeof part === 'number' ? part : String(part)))
      throw new UsageError(
        `${locate(path)}: ${[...path, ''].join('.').replace(/\.$/, ': ')}${issue?.message}.`,
      )
    }
    const { kind, name, workspace, spec } = result.data
    return [{ kind, name, workspace, spec, locate }]
  })
}

/** Aliases are resolved here: an undefined one, or one that expands too far, is an error. */
function toPlainValue(document: Document, place: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    throw new UsageError(`${place}: ${error instanceof Error ? error.message : 'cannot be read'}.`)
  }
}

function locatorOf(document: Document, lines: LineCounter, file: string): ConfigurationDocument['locate'] {
  return (path = []) => {
    for (let length = path.length; length >= 0; length--) {
      const node: unknown =
        length === 0 ? document.contents : document.getIn(path.slice(0, length) as string[], true)
      if (isNode(node) && node.range) return `${file}:${lines.linePos(node.range[0]).line}`
    }
    return file
  }
}
