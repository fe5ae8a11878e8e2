import type { Migration } from 'kysely/migration'
import { flag, required } from './columns.ts'
import { watchTable } from './revision-triggers.ts'

/** Whether prompts of a workspace are cached at providers, and what that saved. */
export const promptCaching: Migration = {
  async up(db) {
    await db.schema
      .alterTable('workspaces')
      .addColumn('prompt_caching', 'integer', (column) => required(column).defaultTo(1))
      .execute()
    await watchTable(db, { table: 'workspaces' })
    await db.schema.alterTable('generations').addColumn('cache_savings_nanos', 'bigint').execute()
    await db.schema.alterTable('generations').addColumn('cache_breakpoints', 'integer', flag).execute()
  },
}
