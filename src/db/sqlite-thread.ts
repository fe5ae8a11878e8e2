import { Thread } from '../lib/thread.ts'
import type { Batch, Batches, Row, Statement } from './batch.ts'

/**
 * What the thread is asked: to read, or to carry out in one transaction, on disk before it answers (`write`) or
 * not (`jot`). Statements of one text stand together.
 */
export type Asked = [kind: 'open' | 'read' | 'write' | 'jot' | 'close', groups: Group[]]
export type Group = [sql: string, ...values: (readonly unknown[])[]]

/**
 * SQLite waits for the disk where it is called, so it is called on a thread of its own: a slow disk holds
 * up nobody but those who wait for it.
 */
export class SqliteThread implements Batches {
  readonly isPostgres = false
  readonly #thread: Thread

  constructor(path: string) {
    const opening: Asked = ['open', [[path]]]
    this.#thread = new Thread(new URL('sqlite-worker.ts', import.meta.url), opening)
  }

  /** Nobody else writes what is read here: what a transaction reads may be read before it. */
  async transact<T>(work: (batch: Batch) => Promise<T>): Promise<T> {
    const groups: Group[] = []
    let lasts = false
    const result = await work({
      rows: (statements) => this.#ask('read', grouped(statements)),
      run: async (statements, mustLast) => {
        groups.push(...grouped(statements))
        lasts ||= mustLast
      },
    })
    if (groups.length > 0) await this.#ask(lasts ? 'write' : 'jot', groups)
    return result
  }

  async close(): Promise<void> {
    if (!this.#thread.isRunning) return
    await this.#ask('close', [])
    this.#thread.end()
  }

  #ask(...asked: Asked): Promise<Row[]> {
    return this.#thread.ask(asked) as Promise<Row[]>
  }
}

function grouped(statements: readonly Statement[]): Group[] {
  const groups: Group[] = []
  for (const { sql, values } of statements) {
    const last = groups.at(-1)
    if (last && last[0] === sql) last.push(values)
    else groups.push([sql, values])
  }
  return groups
}
