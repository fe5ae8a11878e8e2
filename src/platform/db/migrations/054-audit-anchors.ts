import type { Migration } from 'kysely/migration'
import { key, required } from './columns.ts'

/** The heads that the chain of anchors records, so that only changed ones are recorded again. */
export const auditAnchors: Migration = {
  async up(db) {
    await db.schema
      .createTable('audit_anchors')
      .addColumn('chain_id', 'text', key)
      .addColumn('seq', 'integer', required)
      .execute()
  },
}
