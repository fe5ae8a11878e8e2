import { z } from 'zod'
import { asNumber, asString, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import { findFile, isFileId, listFiles, type StoredFile } from '../../storage/stored-files.ts'
import { type FileContent, readFileContent } from '../request/file-content.ts'
import { parseArguments } from './arguments.ts'
import { failedOutcome } from './failure.ts'
import { defineServerTool, type ToolOutcome, type ToolRun } from './tool.ts'

const operations = ['list', 'search', 'read'] as const

/** Reads the uploaded files of the workspace of the key. */
export const files = defineServerTool({
  name: 'files',
  formats: ['chat', 'responses'],
  isGlobal: true,
  parameters: z.strictObject({}),
  create: () => ({
    functions: [
      {
        kind: 'function',
        name: 'files',
        description:
          'The files of the user. `list` lists them, `search` finds a text in their names and contents, `read` ' +
          'returns the content of one file.',
        schema: {
          type: 'object',
          properties: {
            operation: { type: 'string', enum: operations },
            query: { type: 'string', description: 'The text that `search` finds.' },
            file_id: { type: 'string', description: 'The id of the file to `read`, as `list` returns it.' },
            offset: { type: 'integer', description: 'Where `read` starts, in characters of a text.' },
          },
          required: ['operation'],
        },
      },
    ],
    describe: ({ id, arguments: text }) => {
      const { operation, file_id } = parseArguments(text)
      return {
        item: omitUndefined({
          type: 'service:files',
          call_id: id,
          arguments: text,
          operation: asString(operation),
          file_id: asString(file_id),
        }),
      }
    },
    run: async (_call, run) => {
      const operation = asString(run.input.operation)
      if (operation === 'list') return listAll(run)
      if (operation === 'search') return search(run, asString(run.input.query) ?? '')
      if (operation === 'read') return read(run, asString(run.input.file_id) ?? '')
      return failed(`operation: must be one of ${operations.join(', ')}`)
    },
  }),
})

const maxListed = 100
/** Files whose content is searched, and what is read of them. */
const maxSearched = 50
const maxFileBytes = 1024 * 1024
const maxTotalBytes = 8 * 1024 * 1024
/** Characters of a text in one result. */
const maxCharacters = 50_000
const maxMediaBytes = 5 * 1024 * 1024
const maxQueryLength = 200
/** Matches of one file, and how much of the text around them is shown. */
const maxMatches = 5
const contextCharacters = 100

function failed(message: string, item: JsonObject = {}): ToolOutcome {
  return failedOutcome(message, { ...item, error: message })
}

function succeeded(value: JsonObject, item: JsonObject = {}): ToolOutcome {
  const text = JSON.stringify(value)
  return { content: [{ kind: 'text', text }], item: { ...item, result: text, status: 'completed' } }
}

function listWorkspaceFiles({ gateway, caller }: ToolRun, limit: number): Promise<StoredFile[]> {
  return listFiles(gateway.db, { workspaceId: caller.key.workspace_id, afterSeq: 0, limit })
}

async function listAll(run: ToolRun): Promise<ToolOutcome> {
  const rows = await listWorkspaceFiles(run, maxListed + 1)
  return succeeded({ files: rows.slice(0, maxListed).map(describeFile), has_more: rows.length > maxListed })
}

function describeFile({ id, filename, mime_type, size_bytes, created_at }: StoredFile): JsonObject {
  return { file_id: id, filename, mime_type, bytes: size_bytes, created_at }
}

async function search(run: ToolRun, query: string): Promise<ToolOutcome> {
  const needle = query.trim().toLowerCase()
  if (needle === '' || needle.length > maxQueryLength)
    return failed(`query: must have 1 to ${maxQueryLength} characters`)
  const results: JsonObject[] = []
  let remaining = maxTotalBytes
  let searched = 0
  for (const file of await listWorkspaceFiles(run, maxListed)) {
    if (run.signal.aborted) break
    const isReadable = searched < maxSearched && file.size_bytes <= Math.min(remaining, maxFileBytes)
    const content = isReadable ? await readText(run, file) : null
    if (content) {
      searched++
      remaining -= content.size
    }
    const matches = content ? findMatches(content.data, needle) : []
    if (matches.length > 0 || file.filename.toLowerCase().includes(needle))
      results.push({ ...describeFile(file), matches })
    await yieldToEventLoop()
  }
  return succeeded({ results })
}

/** Reads a text; null if the file is not one, or its content was deleted. */
async function readText({ gateway }: ToolRun, file: StoredFile): Promise<FileContent | null> {
  if (!isTextType(file)) return null
  const content = await readFileContent(gateway, file, maxFileBytes)
  return content === null || content === 'too-large' || !content.isText ? null : content
}

function isTextType({ mime_type }: StoredFile): boolean {
  return mime_type.startsWith('text/') || mime_type.endsWith('json')
}

function findMatches(text: string, needle: string): string[] {
  const lower = text.toLowerCase()
  const matches: string[] = []
  for (let at = lower.indexOf(needle); at !== -1; at = lower.indexOf(needle, at + contextCharacters)) {
    matches.push(text.slice(Math.max(0, at - contextCharacters), at + needle.length + contextCharacters))
    if (matches.length === maxMatches) break
  }
  return matches
}

async function read(run: ToolRun, id: string): Promise<ToolOutcome> {
  const { gateway, caller, input } = run
  const file = isFileId(id) ? await findFile(gateway.db, caller.key.workspace_id, id) : undefined
  if (!file) return failed('file_id: the file does not exist; `list` returns the ids', { file_id: id })
  const item = { file_id: id, filename: file.filename }
  const content = await readFileContent(gateway, file, isTextType(file) ? maxTotalBytes : maxMediaBytes)
  if (content === null) return failed('The content of the file is no longer stored.', item)
  if (content === 'too-large') return failed('The file is too large to be read.', item)
  if (content.isText) return succeeded(readSlice(content, asNumber(input.offset) ?? 0), item)
  return readMedia(content, item)
}

function readSlice({ file, data }: FileContent, offset: number): JsonObject {
  const start = Math.max(0, Math.trunc(offset))
  const end = Math.min(data.length, start + maxCharacters)
  const next = end < data.length ? { next_offset: end } : {}
  return { ...describeFile(file), content: data.slice(start, end), ...next }
}

/** Images and PDFs are parts that models can read. */
function readMedia({ file, data }: FileContent, item: JsonObject): ToolOutcome {
  const source = { kind: 'data' as const, mediaType: file.mime_type, data }
  const { content, item: described } = succeeded(describeFile(file), item)
  if (file.mime_type.startsWith('image/'))
    return { content: [...content, { kind: 'image', source }], item: described }
  if (file.mime_type === 'application/pdf')
    return { content: [...content, { kind: 'file', source, filename: file.filename }], item: described }
  return failed(`A file of the type ${file.mime_type} cannot be read.`, item)
}
