import type { CompiledQuery, DatabaseConnection } from 'kysely'

/** Tables whose changes increase the revision of account data, and those whose deleted rows take rows of them along. */
export const countedTables: ReadonlySet<string> = new Set([
  'allowed_phrases',
  'api_keys',
  'byok_keys',
  'destinations',
  'guardrail_keys',
  'guardrail_members',
  'guardrails',
  'ledger_entries',
  'members',
  'organizations',
  'preset_versions',
  'presets',
  'signing_keys',
  'workspace_budgets',
  'workspaces',
])

const writePattern = /^\s*(?:insert into|update|delete from)\s+"?(\w+)/i

/**
 * Counts what this process may have changed in account data, which is cached in memory. A change counts when others can
 * see it: at the end of its statement, or of its transaction.
 */
export class ChangeCounter {
  count = 0
  /** Connections in a transaction, and whether it changed anything. */
  readonly #transactions = new WeakMap<DatabaseConnection, boolean>()

  beginTransaction(connection: DatabaseConnection): void {
    this.#transactions.set(connection, false)
  }

  recordQuery(connection: DatabaseConnection, { sql }: CompiledQuery): void {
    const table = writePattern.exec(sql)?.[1]
    if (table === undefined || !countedTables.has(table)) return
    if (this.#transactions.has(connection)) this.#transactions.set(connection, true)
    else this.count++
  }

  endTransaction(connection: DatabaseConnection): void {
    if (this.#transactions.get(connection)) this.count++
    this.#transactions.delete(connection)
  }
}
