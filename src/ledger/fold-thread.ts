import type { Row } from '../db/batch.ts'
import { Thread } from '../lib/thread.ts'
import type { JournalState, Piece, Refused } from './fold.ts'

/** A piece whose lines are in a file. */
type WrittenPiece = Omit<Piece, 'lines'> & { size: number }

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

  constructor(path: string) {
    const opening: Asked = { kind: 'open', path }
    this.#thread = new Thread(new URL('fold-worker.ts', import.meta.url), opening)
  }

  async state(): Promise<JournalState> {
    return (await this.#ask({ kind: 'state' })) as JournalState
  }

  async markOpen(isOpen: boolean): Promise<void> {
    await this.#ask({ kind: 'mark', isOpen })
  }

  /** What the query gives for each of the values, with the others the same each time. */
  async rows(sql: string, values: readonly string[], ...others: string[]): Promise<Row[]> {
    return values.length === 0 ? [] : ((await this.#ask({ kind: 'rows', sql, values, others })) as Row[])
  }

  /** Brings the piece that is in the file into the database, once. */
  async fold(path: string, piece: WrittenPiece): Promise<Refused[]> {
    return (await this.#ask({ kind: 'fold', path, ...piece })) as Refused[]
  }

  async close(): Promise<void> {
    if (!this.#thread.isRunning) return
    await this.#ask({ kind: 'close' })
    this.#thread.end()
  }

  #ask(asked: Asked): Promise<unknown> {
    return this.#thread.ask(asked)
  }
}
