import type { CompiledQuery, DatabaseConnection } from 'kysely'

/** Tables whose changes increase the revision of account data, and those whose deleted rows take rows of them along. */
export const countedTables: ReadonlySet<string> = new Set([
  'allowed_phrases',
  'api_keys',
  'blocked_end_users',
  'byok_keys',
  'destinations',
  'guardrail_keys',
  'guardrail_members',
  'guardrails',
  'ledger_entries',
  'limits',
  'member_limits',
  'members',
  'model_aliases',
  'organizations',
  'preset_versions',
  'presets',
  'routing_rules',
  'shadows',
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
  /** Connections in a transaction, with the tables that it changed. */
  readonly #transactions = new WeakMap<DatabaseConnection, Set<string>>()
  readonly #listeners = new Map<string, Set<() => void>>()
  /** Called after every change that counts. It must not throw. */
  onCount: (() => void) | null = null

  /** Calls the listener after changes of a table by this process that others can see. It must not throw. */
  listen(table: string, listener: () => void): void {
    const listeners = this.#listeners.get(table) ?? new Set()
    this.#listeners.set(table, listeners.add(listener))
  }

  beginTransaction(connection: DatabaseConnection): void {
    this.#transactions.set(connection, new Set())
  }

  recordQuery(connection: DatabaseConnection, { sql }: CompiledQuery): void {
    const table = writePattern.exec(sql)?.[1]
    if (table === undefined || !(countedTables.has(table) || this.#listeners.has(table))) return
    const changed = this.#transactions.get(connection)
    if (changed) changed.add(table)
    else this.#publish([table])
  }

  endTransaction(connection: DatabaseConnection): void {
    const changed = this.#transactions.get(connection)
    this.#transactions.delete(connection)
    if (changed && changed.size > 0) this.#publish([...changed])
  }

  #publish(tables: readonly string[]): void {
    if (tables.some((table) => countedTables.has(table))) {
      this.count++
      this.onCount?.()
    }
    for (const listener of new Set(tables.flatMap((table) => [...(this.#listeners.get(table) ?? [])])))
      listener()
  }
}
