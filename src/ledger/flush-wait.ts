import { sql } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import { readLeftoverFiles } from './journal-segment.ts'
import { flushedKey, journalKey } from './ledger-file.ts'

const pollMs = 50

/** The last segment of the journal next to a database that the database does not have yet; null if it has all. */
export async function findUnflushedSegment(db: Db, databasePath: string): Promise<number | null> {
  const journal = await readInstanceValue(db, journalKey)
  const numbers = readLeftoverFiles(databasePath)
    .filter(({ segmentId, size }) => segmentId?.journal === journal && size > 0)
    .map(({ segmentId }) => segmentId?.number ?? 0)
  const last = Math.max(0, ...numbers)
  return last > (await readFlushedNumber(db)) ? last : null
}

/** Waits until a running server has flushed a segment. False if it has not within the time. */
export async function waitForFlush(db: Db, segment: number, timeoutMs: number): Promise<boolean> {
  for (const deadline = performance.now() + timeoutMs; performance.now() < deadline; await Bun.sleep(pollMs))
    if ((await readFlushedNumber(db)) >= segment) return true
  return false
}

async function readFlushedNumber(db: Db): Promise<number> {
  return Number((await readInstanceValue(db, flushedKey)) ?? 0)
}

async function readInstanceValue(db: Db, name: string): Promise<string | undefined> {
  const { rows } = await sql<{ value: string }>`select value from instance where name = ${name}`.execute(db)
  return rows[0]?.value
}
