import { leasePattern } from '../../src/ledger/lease-id.ts'
import type { Db } from '../../src/platform/db/db.ts'

/** The holds of requests, without the leases of nodes. */
export function requestHolds(db: Db) {
  return db.selectFrom('holds').where('id', 'not like', leasePattern)
}
