import type { Migration } from 'kysely/migration'
import { clustered, key, required } from './columns.ts'

/** Records that explain the routing and admission of a request. */
export const explanations: Migration = {
  async up(db) {
    await db.schema.alterTable('generations').addColumn('routing_plan_id', 'text').execute()
    await db.schema.alterTable('generations').addColumn('dispatch_ms', 'integer').execute()
    await db.schema.alterTable('generations').addColumn('nearest_limit', 'text').execute()
    const plans = db.schema
      .createTable('routing_plans')
      .addColumn('id', 'text', key)
      .addColumn('content', 'text', required)
    await clustered(db, plans)
  },
}
