import type { Migration } from 'kysely/migration'

/** The services that guardrails send texts to, and their secrets. */
export const externalChecks: Migration = {
  async up(db) {
    await db.schema.alterTable('guardrails').addColumn('external_checks', 'text').execute()
    await db.schema.alterTable('guardrails').addColumn('sealed_check_secrets', 'text').execute()
  },
}
