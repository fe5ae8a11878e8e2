import { Database } from 'bun:sqlite'
import type { Row } from '../db/batch.ts'
import { answerEach } from '../lib/thread.ts'
import { Folder } from './fold.ts'
import type { Asked, Snapshot } from './fold-thread.ts'
import { readPiece } from './segment.ts'

/** How long another connection may keep the file to itself. */
const busyMs = 5000

let database: Database | undefined
let folder: Folder | undefined

answerEach((question) => {
  const asked = question as Asked
  if (asked.kind === 'open') return open(asked.path)
  if (!database || !folder) throw new Error('the database is not open')
  if (asked.kind === 'close') return database.close()
  if (asked.kind === 'state') return folder.state
  if (asked.kind === 'mark') return folder.markOpen(asked.isOpen)
  if (asked.kind === 'rows') return snapshot(database, folder, asked)
  return folder.fold({ ...asked, lines: readPiece(asked.path, asked.size) })
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
  folder = new Folder(database)
}

/** In one transaction, so that the rows are those of the number. */
function snapshot(
  from: Database,
  folds: Folder,
  { sql, values, others }: Extract<Asked, { kind: 'rows' }>,
): Snapshot {
  const read = from.transaction(() => ({
    folded: folds.foldedNumber,
    rows: values.flatMap((value) => from.query<Row, string[]>(sql).all(value, ...others)),
  }))
  return read.deferred()
}
