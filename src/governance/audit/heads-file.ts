import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { ChainHead } from './store.ts'

/** Size above which the file is replaced by one with its last lines. */
const maxBytes = 256 * 1024
/** Each line proves all before it, so one would do; more survive damage to the file. */
const retainedLines = 500

const headPattern = /^([^:\s]{1,100}):(\d{1,9}):([\w-]{43})$/
const linePattern = /^\S+ (\S+)$/

/** Heads of the chain of anchors, noted outside of the database. Each node has a file of its own. */
export function headsFilePath(dataDir: string): string {
  return join(dataDir, 'audit-heads.txt')
}

/** `chain:seq:hash`. */
export function formatHead({ chain_id, seq, hash }: ChainHead): string {
  return `${chain_id}:${seq}:${hash}`
}

/** Null for text that is not a head. */
export function parseHead(text: string): ChainHead | null {
  const [, chain_id, seq, hash] = headPattern.exec(text) ?? []
  return chain_id && seq && hash ? { chain_id, seq: Number(seq), hash } : null
}

/** The heads of a file, oldest first; null if there is no file. Throws for a line that is not a head. */
export async function readHeadsFile(path: string): Promise<ChainHead[] | null> {
  const lines = await readLines(path)
  return lines === null ? null : lines.map((line, index) => parseLine(path, line, index + 1))
}

/** Whole lines: a crash may have left a part of one at the end. */
async function readLines(path: string): Promise<string[] | null> {
  try {
    return (await readFile(path, 'utf8')).split('\n').slice(0, -1)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

function parseLine(path: string, line: string, number: number): ChainHead {
  const head = parseHead(linePattern.exec(line)?.[1] ?? '')
  if (head === null) throw new Error(`Line ${number} of ${path} is not a head of the audit log.`)
  return head
}

/** Returns when the line is on disk. */
export async function appendHead(path: string, time: string, head: ChainHead): Promise<void> {
  const line = `${time} ${formatHead(head)}\n`
  const file = await open(path, 'a+', 0o600)
  try {
    const { size } = await file.stat()
    // A crash may have left a part of a line, which the next one must not continue.
    if (size > maxBytes || !(await endsWithLine(file, size))) return await replaceFile(path, line)
    await file.write(line)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function endsWithLine(file: Awaited<ReturnType<typeof open>>, size: number): Promise<boolean> {
  if (size === 0) return true
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1)
  return buffer.toString() === '\n'
}

async function replaceFile(path: string, line: string): Promise<void> {
  const lines = ((await readLines(path)) ?? []).slice(-retainedLines)
  const next = `${path}.new`
  const file = await open(next, 'w', 0o600)
  try {
    await file.write(lines.map((each) => `${each}\n`).join('') + line)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(next, path)
}
