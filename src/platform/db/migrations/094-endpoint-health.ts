import type { Migration } from 'kysely/migration'
import { clustered, flag, required } from './columns.ts'

/** The attempts at each endpoint in the last 24 hours, for the next start. */
export const endpointHealth: Migration = {
  async up(db) {
    await clustered(
      db,
      db.schema
        .createTable('endpoint_health')
        .addColumn('slot', 'integer', required)
        .addColumn('endpoint', 'text', required)
        .addColumn('succeeded', 'integer', flag)
        .addColumn('failed', 'integer', flag)
        .addColumn('last_failure', 'text')
        .addPrimaryKeyConstraint('endpoint_health_pk', ['slot', 'endpoint']),
    )
  },
}
