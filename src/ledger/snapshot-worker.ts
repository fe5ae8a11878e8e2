// Imports little: it is started with every server, and what it loads is loaded once more for its thread.
import type { Database } from 'bun:sqlite'
import { handleRequests } from '../platform/concurrency/worker-thread.ts'
import type { Row } from '../platform/db/batch.ts'
import type { Snapshot, SnapshotThreadRequest } from './flush-thread.ts'
import { flushedKey, openLedgerFile } from './ledger-file.ts'

let database: Database | undefined

handleRequests((message) => {
  const request = message as SnapshotThreadRequest
  if (request.kind === 'open') {
    database = openLedgerFile(request.path)
    return undefined
  }
  if (!database) throw new Error('the database is not open')
  return request.kind === 'close' ? database.close() : readSnapshot(database, request)
})

/** Reads in one transaction, so that rows and number belong together. */
function readSnapshot(
  from: Database,
  { sql, values, parameters }: Extract<SnapshotThreadRequest, { kind: 'rows' }>,
): Snapshot {
  const read = from.transaction(() => ({
    flushedNumber: readFlushedNumber(from),
    rows: values.flatMap((value) => from.query<Row, string[]>(sql).all(value, ...parameters)),
  }))
  return read.deferred()
}

function readFlushedNumber(from: Database): number {
  const row = from
    .query<{ value: string }, string>('select value from instance where name = ?')
    .get(flushedKey)
  return Number(row?.value)
}
