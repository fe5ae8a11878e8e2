import type { Migration } from 'kysely/migration'
import { watchTable } from './revision-triggers.ts'

/** The services that guardrails send texts to, and their secrets. */
export const externalChecks: Migration = {
  async up(db) {
    await db.schema.alterTable('guardrails').addColumn('external_checks', 'text').execute()
    await db.schema.alterTable('guardrails').addColumn('sealed_check_secrets', 'text').execute()
    await watchTable(db, { table: 'guardrails' })
  },
}
