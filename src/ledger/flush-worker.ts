import type { Database } from 'bun:sqlite'
import { handleRequests } from '../platform/concurrency/worker-thread.ts'
import type { FlushThreadRequest } from './flush-thread.ts'
import { JournalFlusher } from './journal-flusher.ts'
import { readSegmentLines } from './journal-segment.ts'
import { openLedgerFile } from './ledger-file.ts'

let database: Database | undefined
let flusher: JournalFlusher | undefined

handleRequests((message) => {
  const request = message as FlushThreadRequest
  if (request.kind === 'open') return open(request.path)
  if (!database || !flusher) throw new Error('the database is not open')
  if (request.kind === 'close') return database.close()
  if (request.kind === 'state') return flusher.state
  if (request.kind === 'mark') return flusher.markOpen(request.isOpen)
  return flusher.flush({ ...request, lines: readSegmentLines(request.path, request.size) })
})

function open(path: string): void {
  database = openLedgerFile(path)
  flusher = new JournalFlusher(database)
}
