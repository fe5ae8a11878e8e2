import { Database } from 'bun:sqlite'
import type { Row } from '../db/batch.ts'
import { handleRequests } from '../lib/worker-thread.ts'
import type { FlushThreadRequest, Snapshot } from './flush-thread.ts'
import { JournalFlusher } from './journal-flusher.ts'
import { readSegmentLines } from './journal-segment.ts'

/** How long another connection may lock the file. */
const busyMs = 5000

let database: Database | undefined
let flusher: JournalFlusher | undefined

handleRequests((message) => {
  const request = message as FlushThreadRequest
  if (request.kind === 'open') return open(request.path)
  if (!database || !flusher) throw new Error('the database is not open')
  if (request.kind === 'close') return database.close()
  if (request.kind === 'state') return flusher.state
  if (request.kind === 'mark') return flusher.markOpen(request.isOpen)
  if (request.kind === 'rows') return snapshot(database, flusher, request)
  return flusher.flush({ ...request, lines: readSegmentLines(request.path, request.size) })
})

function open(path: string): void {
  database = new Database(path, { safeIntegers: true })
  for (const pragma of [
    `busy_timeout=${busyMs}`,
    'journal_mode=WAL',
    'synchronous=FULL',
    'foreign_keys=ON',
  ]) {
    database.run(`PRAGMA ${pragma}`)
  }
  flusher = new JournalFlusher(database)
}

/** In one transaction, so that rows and number belong together. */
function snapshot(
  from: Database,
  journalFlusher: JournalFlusher,
  { sql, values, parameters }: Extract<FlushThreadRequest, { kind: 'rows' }>,
): Snapshot {
  const read = from.transaction(() => ({
    flushedNumber: journalFlusher.lastFlushedNumber,
    rows: values.flatMap((value) => from.query<Row, string[]>(sql).all(value, ...parameters)),
  }))
  return read.deferred()
}
