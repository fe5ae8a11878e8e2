import { isObject } from '../settings.ts'
import { maxPrompts, maxTextLength } from './matrix.ts'

const maxFileBytes = 1_000_000
/** Names of the column or field that has the prompt. */
const promptFields = ['prompt', 'input', 'question', 'text', 'query']

export interface LoadedPrompts {
  prompts: string[]
  /** What was left out, if anything was. */
  note: string | null
}

/** Reads the prompts of a CSV, JSON or JSON Lines file. Throws an error with a text for people. */
export async function readPromptFile(file: File): Promise<LoadedPrompts> {
  if (file.size > maxFileBytes) throw new Error(`${file.name} is larger than 1 MB.`)
  const text = await file.text()
  return readPrompts(text, /\.jsonl?$|\.ndjson$/i.test(file.name))
}

export async function readPrompts(text: string, isJson: boolean): Promise<LoadedPrompts> {
  const found = (isJson ? readJson(text) : await readCsv(text)).filter((prompt) => prompt.trim() !== '')
  if (found.length === 0) throw new Error('The file has no prompts.')
  const tooLong = found.findIndex((prompt) => prompt.length > maxTextLength)
  if (tooLong >= 0)
    throw new Error(
      `Prompt ${tooLong + 1} is longer than ${maxTextLength.toLocaleString('en-US')} characters.`,
    )
  const isCut = found.length > maxPrompts
  return {
    prompts: found.slice(0, maxPrompts),
    note: isCut ? `Loaded the first ${maxPrompts} of ${found.length} prompts.` : null,
  }
}

/** The column with a known name; without one, the first column, and every line is a prompt. */
async function readCsv(text: string): Promise<string[]> {
  const { default: papa } = await import('papaparse')
  const { data: lines } = papa.parse<string[]>(text, { skipEmptyLines: 'greedy' })
  const names = (lines[0] ?? []).map((name) =>
    name
      .replace(/^\uFEFF/, '')
      .trim()
      .toLowerCase(),
  )
  const column = promptFields.map((field) => names.indexOf(field)).find((index) => index >= 0)
  return (column === undefined ? lines : lines.slice(1)).map((line) => line[column ?? 0] ?? '')
}

function readJson(text: string): string[] {
  const trimmed = text.trim()
  if (trimmed.startsWith('[')) {
    const values = parse(trimmed, 'The file')
    return Array.isArray(values) ? values.map((value, index) => promptOf(value, `Entry ${index + 1}`)) : []
  }
  return trimmed
    .split('\n')
    .map((line, index) => ({ line: line.trim(), name: `Line ${index + 1}` }))
    .filter(({ line }) => line !== '')
    .map(({ line, name }) => promptOf(parse(line, name), name))
}

function parse(text: string, name: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`${name} is not JSON.`)
  }
}

function promptOf(value: unknown, name: string): string {
  if (typeof value === 'string') return value
  if (isObject(value)) {
    const texts = promptFields.map((field) => value[field]).filter((field) => typeof field === 'string')
    if (texts[0] !== undefined) return texts[0]
    const messages: unknown[] = Array.isArray(value.messages) ? value.messages : []
    const last = messages.findLast((message) => isObject(message) && message.role === 'user')
    if (isObject(last) && typeof last.content === 'string') return last.content
  }
  throw new Error(`${name} has no prompt. Name it "prompt", "input" or "question", or use "messages".`)
}
