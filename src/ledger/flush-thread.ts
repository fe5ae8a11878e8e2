import { WorkerThread } from '../platform/concurrency/worker-thread.ts'
import type { Row } from '../platform/db/batch.ts'
import type { JournalSegment, JournalState, RejectedWrite } from './journal-flusher.ts'

/** A segment whose lines are in a file. */
type WrittenSegment = Omit<JournalSegment, 'lines'> & { size: number }

/** Rows as of the moment when the segments up to `flushedNumber` were in the database. */
export interface Snapshot {
  flushedNumber: number
  rows: Row[]
}

type ConnectionRequest = { kind: 'open'; path: string } | { kind: 'close' }

/** Requests to the thread that writes. */
export type FlushThreadRequest =
  | ConnectionRequest
  | { kind: 'state' }
  | { kind: 'mark'; isOpen: boolean }
  | ({ kind: 'flush'; path: string } & WrittenSegment)

/** Requests to the thread that reads. */
export type SnapshotThreadRequest =
  | ConnectionRequest
  | { kind: 'rows'; sql: string; values: readonly string[]; parameters: readonly string[] }

/**
 * SQLite blocks its caller while it waits for the disk, so it runs on a thread of its own: a slow disk delays
 * only those who wait for it.
 */
export class FlushThread {
  readonly #thread: WorkerThread
  /** A second thread, because a read must not wait behind a flush that waits for the write lock. */
  readonly #reader: WorkerThread

  constructor(path: string) {
    const opening: ConnectionRequest = { kind: 'open', path }
    this.#thread = new WorkerThread(new URL('flush-worker.ts', import.meta.url), opening)
    this.#reader = new WorkerThread(new URL('snapshot-worker.ts', import.meta.url), opening)
  }

  async state(): Promise<JournalState> {
    return (await this.#send({ kind: 'state' })) as JournalState
  }

  async markOpen(isOpen: boolean): Promise<void> {
    await this.#send({ kind: 'mark', isOpen })
  }

  /** The rows of the query for each of the values, with the same parameters each time. */
  async rows(sql: string, values: readonly string[], ...parameters: string[]): Promise<Row[]> {
    return values.length === 0 ? [] : (await this.snapshot(sql, values, ...parameters)).rows
  }

  async snapshot(sql: string, values: readonly string[], ...parameters: string[]): Promise<Snapshot> {
    const request: SnapshotThreadRequest = { kind: 'rows', sql, values, parameters }
    return (await this.#reader.call(request)) as Snapshot
  }

  /** Applies the segment in the file to the database, once. */
  async flush(path: string, segment: WrittenSegment): Promise<RejectedWrite[]> {
    return (await this.#send({ kind: 'flush', path, ...segment })) as RejectedWrite[]
  }

  async close(): Promise<void> {
    await closeThread(this.#reader)
    await closeThread(this.#thread)
  }

  #send(request: FlushThreadRequest): Promise<unknown> {
    return this.#thread.call(request)
  }
}

async function closeThread(thread: WorkerThread): Promise<void> {
  if (!thread.isRunning) return
  const request: ConnectionRequest = { kind: 'close' }
  await thread.call(request)
  thread.terminate()
}
