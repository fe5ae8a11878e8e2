import { Database } from 'bun:sqlite'

/** Maximum wait for another connection that locks the file. */
const busyMs = 5000

/** The journal of this database, and the number of its last segment that was flushed. */
export const journalKey = 'ledger_journal'
export const flushedKey = 'ledger_folded'
/**
 * The file whose journal is open: a killed process leaves it set, and a copy of the database is another file.
 */
export const openKey = 'ledger_open'

/** A connection of a thread of the ledger. */
export function openLedgerFile(path: string): Database {
  const database = new Database(path, { safeIntegers: true })
  for (const pragma of [
    `busy_timeout=${busyMs}`,
    'journal_mode=WAL',
    'synchronous=FULL',
    'foreign_keys=ON',
  ]) {
    database.run(`PRAGMA ${pragma}`)
  }
  return database
}
