import { handleRequests } from '../platform/concurrency/worker-thread.ts'
import { closeDb, openDb } from '../platform/db/db.ts'
import { checkLedger } from './check.ts'

/** Runs on its own thread, because SQLite blocks its caller while it reads whole tables. */
handleRequests(async (request) => {
  if (request === null) return
  const db = openDb((request as { url: string }).url, { queryTimeoutMs: null, poolSize: 2 })
  try {
    return await checkLedger(db)
  } finally {
    await closeDb(db)
  }
})
