import type { Batch, Batches, Row, Statement } from './batch.ts'

/** What the thread is asked: to read, or to carry out in one transaction. Statements of one text stand together. */
export type Asked = [kind: 'open' | 'read' | 'write' | 'close', groups: Group[]]
export type Group = [sql: string, ...values: (readonly unknown[])[]]

export interface Told {
  rows?: Row[]
  error?: { message: string; code: string }
}

/**
 * SQLite waits for the disk where it is called, so it is called on a thread of its own: a slow disk holds
 * up nobody but those who wait for it. Text is handed over faster than a copy of objects.
 */
export class SqliteThread implements Batches {
  readonly isPostgres = false
  readonly #path: string
  readonly #asked: PromiseWithResolvers<Row[]>[] = []
  #worker: Worker | null = null

  constructor(path: string) {
    this.#path = path
  }

  /** Nobody else writes what is read here: what a transaction reads may be read before it. */
  async transact<T>(work: (batch: Batch) => Promise<T>): Promise<T> {
    const groups: Group[] = []
    const result = await work({
      rows: (statements) => this.#ask('read', grouped(statements)),
      run: async (statements) => void groups.push(...grouped(statements)),
    })
    if (groups.length > 0) await this.#ask('write', groups)
    return result
  }

  async close(): Promise<void> {
    if (!this.#worker) return
    await this.#ask('close', [])
    this.#worker.terminate()
    this.#worker = null
  }

  #ask(kind: Asked[0], groups: Group[]): Promise<Row[]> {
    const answer = Promise.withResolvers<Row[]>()
    this.#asked.push(answer)
    this.#worker ??= this.#start()
    this.#worker.postMessage(JSON.stringify([kind, groups]))
    return answer.promise
  }

  /** Only when it is needed: commands that move no money have no use for it. */
  #start(): Worker {
    const worker = new Worker(new URL('sqlite-worker.ts', import.meta.url))
    worker.onmessage = ({ data }: MessageEvent<Told>) => this.#told(data)
    worker.onerror = ({ message }) => this.#died(message)
    worker.unref()
    worker.postMessage(JSON.stringify(['open', [[this.#path]]]))
    return worker
  }

  /** Nothing that was asked of it will be answered; the next question goes to a new one. */
  #died(message: string): void {
    this.#worker?.terminate()
    this.#worker = null
    for (const answer of this.#asked.splice(0)) answer.reject(new Error(message))
  }

  #told({ rows, error }: Told): void {
    const answer = this.#asked.shift()
    if (rows) answer?.resolve(rows)
    else answer?.reject(Object.assign(new Error(error?.message), { code: error?.code }))
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
