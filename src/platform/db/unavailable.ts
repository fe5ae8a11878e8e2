/** The file cannot be read or written: a full disk, or a file that is read-only, damaged or locked. */
const sqliteCodes = /^SQLITE_(?:FULL|IOERR|READONLY|CORRUPT|NOTADB|CANTOPEN|BUSY|LOCKED|PROTOCOL|NOMEM)/

/** Connection lost, insufficient resources, shutting down, read-only, silent for too long, input/output errors and damage. */
const postgresClasses = /^(?:08|53|57P|58)[0-9A-Z]{2,3}$|^25(?:006|P03)$|^XX00[12]$/

const clientCodes =
  /^(?:ERR_POSTGRES_(?:CONNECTION|IDLE|LIFETIME|TLS)|ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND|ENOSPC|EROFS)/

/** A database that did not respond in time. */
export class QueryTimeoutError extends Error {}

/** Whether an error means that the database is unavailable now, whatever the request is. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (error instanceof QueryTimeoutError) return true
  if (!(error instanceof Error)) return false
  const { code, errno } = error as { code?: unknown; errno?: unknown }
  const isKnown = sqliteCodes.test(String(code)) || clientCodes.test(String(code))
  return isKnown || postgresClasses.test(String(errno)) || isDatabaseUnavailable(error.cause)
}
