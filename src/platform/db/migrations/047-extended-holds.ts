import { sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * Requests that a crash interrupted were recorded with their first hold only. What was added to it is not stored
 * anywhere, but a charge never exceeds what is held, so at least the charge was.
 */
export const extendedHolds: Migration = {
  async up(db) {
    await sql`update generations set hold_nanos = cost_nanos
      where flag = 'interrupted' and hold_nanos < cost_nanos`.execute(db)
  },
}
