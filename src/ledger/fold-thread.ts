import type { Row } from '../db/batch.ts'
import { Thread } from '../lib/thread.ts'
import type { JournalState, Piece, Refused } from './fold.ts'

/** A piece whose lines are in a file. */
type WrittenPiece = Omit<Piece, 'lines'> & { size: number }

/** Rows as they were when the pieces up to the number `folded` were in the database. */
export interface Snapshot {
  folded: number
  rows: Row[]
}

/** What the thread is asked. */
export type Asked =
  | { kind: 'open'; path: string }
  | { kind: 'state' }
  | { kind: 'mark'; isOpen: boolean }
  | { kind: 'rows'; sql: string; values: readonly string[]; others: readonly string[] }
  | ({ kind: 'fold'; path: string } & WrittenPiece)
  | { kind: 'close' }

/**
 * SQLite waits for the disk where it is called, so it is called on a thread of its own: a slow disk holds
 * up nobody but those who wait for it.
 */
export class FoldThread {
  readonly #thread: Thread
  /** A read does not wait behind a fold that waits for the write lock. */
  readonly #reader: Thread

  constructor(path: string) {
    const opening: Asked = { kind: 'open', path }
    const worker = new URL('fold-worker.ts', import.meta.url)
    this.#thread = new Thread(worker, opening)
    this.#reader = new Thread(worker, opening)
  }

  async state(): Promise<JournalState> {
    return (await this.#ask({ kind: 'state' })) as JournalState
  }

  async markOpen(isOpen: boolean): Promise<void> {
    await this.#ask({ kind: 'mark', isOpen })
  }

  /** What the query gives for each of the values, with the others the same each time. */
  async rows(sql: string, values: readonly string[], ...others: string[]): Promise<Row[]> {
    return values.length === 0 ? [] : (await this.snapshot(sql, values, ...others)).rows
  }

  async snapshot(sql: string, values: readonly string[], ...others: string[]): Promise<Snapshot> {
    const question: Asked = { kind: 'rows', sql, values, others }
    return (await this.#reader.ask(question)) as Snapshot
  }

  /** Brings the piece that is in the file into the database, once. */
  async fold(path: string, piece: WrittenPiece): Promise<Refused[]> {
    return (await this.#ask({ kind: 'fold', path, ...piece })) as Refused[]
  }

  async close(): Promise<void> {
    await closeThread(this.#reader)
    await closeThread(this.#thread)
  }

  #ask(asked: Asked): Promise<unknown> {
    return this.#thread.ask(asked)
  }
}

async function closeThread(thread: Thread): Promise<void> {
  if (!thread.isRunning) return
  const question: Asked = { kind: 'close' }
  await thread.ask(question)
  thread.end()
}
