import { RevisionReader } from '../concurrency/revision-reader.ts'
import { unavailableError } from '../errors/gateway-error.ts'
import { changesOf, type Db, readAccountRevision } from './db.ts'

/** Milliseconds until changes by other nodes and by the CLI, which share the database, are visible. */
const freshMs = 1000

/** Milliseconds the last known values are used while the database is unavailable. */
export const staleMs = 60_000

/** The state of the data that is cached for requests. A change by this process is visible at once. */
export function createRevisionReader(db: Db): RevisionReader {
  const read = () => withUnavailableError(readAccountRevision(db))
  return new RevisionReader({ read, changes: changesOf(db), freshMs })
}

/** A failed query is a 503, not an internal error. */
export async function withUnavailableError<T>(query: Promise<T>): Promise<T> {
  try {
    return await query
  } catch (cause) {
    throw unavailableError(cause)
  }
}
