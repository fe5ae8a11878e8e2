import type { FileHandle } from 'node:fs/promises'
import { tryParseJson } from '../../../platform/json/json.ts'
import { readAt } from './read-at.ts'

/** A longer text is judged by its beginning: parsing more would block other requests. */
const maxParsedBytes = 1024 * 1024
const chunkBytes = 64 * 1024

/** The control characters that occur in text: bell to carriage return, and escape. */
function isBinaryByte(byte: number): boolean {
  return (byte < 0x20 && !(byte >= 0x07 && byte <= 0x0d) && byte !== 0x1b) || byte === 0x7f
}

/** Checks the beginning of a file, which may end inside a character. */
export function looksLikeText(head: Buffer): boolean {
  return !head.some(isBinaryByte) && isUtf8Chunk(new TextDecoder('utf-8', { fatal: true }), head)
}

/** The kind of text; undefined if a later part of the file is not UTF-8. */
export async function detectTextType(
  file: FileHandle,
  size: number,
  filename: string,
): Promise<string | undefined> {
  if (!(await isUtf8(file, size))) return undefined
  const beginning = await readAt(file, 0, Math.min(size, maxParsedBytes))
  const text = new TextDecoder().decode(beginning, { stream: true })
  const isComplete = size <= maxParsedBytes
  const lines = splitLines(text, isComplete)
  if (isNdjson(lines, filename)) return 'application/x-ndjson'
  if (isComplete ? isJson(text) : isLongJson(text, await readLastCharacter(file, size)))
    return 'application/json'
  if (/\.(md|markdown)$/i.test(filename)) return 'text/markdown'
  return /\.csv$/i.test(filename) || isCsv(text, isComplete) ? 'text/csv' : 'text/plain'
}

async function isUtf8(file: FileHandle, size: number): Promise<boolean> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  for (let at = 0; at < size; at += chunkBytes) {
    const chunk = await readAt(file, at, Math.min(chunkBytes, size - at))
    if (chunk.includes(0) || !isUtf8Chunk(decoder, chunk)) return false
  }
  return isUtf8Chunk(decoder, Buffer.alloc(0), true)
}

function isUtf8Chunk(decoder: TextDecoder, chunk: Buffer, last = false): boolean {
  try {
    decoder.decode(chunk, { stream: !last })
    return true
  } catch {
    return false
  }
}

/** Non-empty lines, without the last one of a beginning, which is cut short. */
function splitLines(text: string, isComplete: boolean): string[] {
  const lines = text.split(/\r?\n/)
  return (isComplete ? lines : lines.slice(0, -1)).filter((line) => line.trim() !== '')
}

/** A bare number or word is text, not a JSON document. */
function isJson(text: string): boolean {
  return /^\s*[{[]/.test(text) && tryParseJson(text, maxParsedBytes) !== undefined
}

/** One line of JSON is a JSON document, unless its name says JSON Lines. */
function isNdjson(lines: string[], filename: string): boolean {
  const hasNdjsonName = /\.(jsonl|ndjson)$/i.test(filename)
  return lines.length >= (hasNdjsonName ? 1 : 2) && lines.every(isJson)
}

/** Recognizes JSON that is too long to parse: it starts like JSON and ends with the matching bracket. */
function isLongJson(beginning: string, last: string): boolean {
  const start = /^\s*(?:\{\s*["}]|\[\s*(?:[[{"\]\d-]|true|false|null))/.exec(beginning)?.[0].trim()
  return start !== undefined && last === (start.startsWith('{') ? '}' : ']')
}

async function readLastCharacter(file: FileHandle, size: number): Promise<string> {
  const tail = await readAt(file, Math.max(0, size - 64), 64)
  return tail.toString('latin1').trim().slice(-1)
}

/** Two lines or more, each with the same number of commas outside quotes, written without spaces after them. */
function isCsv(text: string, isComplete: boolean): boolean {
  const plain = text.replace(/"[^"]*"/g, '')
  const lines = splitLines(plain, isComplete)
  const columns = (line: string) => line.split(',').length
  const width = columns(lines[0] ?? '')
  return lines.length >= 2 && width >= 2 && !plain.includes(', ') && lines.every((l) => columns(l) === width)
}
