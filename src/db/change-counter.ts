import type { CompiledQuery, DatabaseConnection } from 'kysely'

/** Tables that change all the time: caches of the hot path read none of them. */
const uncachedTables = new Set([
  'audit_entries',
  'audit_chains',
  'nodes',
  'stored_responses',
  'stored_pages',
  'stored_item_ids',
  'conversations',
  'conversation_items',
  'video_jobs',
  'generation_contents',
  'generation_feedback',
  'generation_lines',
  'generation_tasks',
  'guardrail_hits',
  'refused_requests',
  'routing_plans',
  'daily_requests',
  'containers',
  'dataset_contributions',
  'dataset_days',
  'dataset_sessions',
  'dataset_figures',
  'dataset_apps',
  'outbox_events',
  'outbox_deliveries',
  'destination_states',
])

const writePattern = /^(?:insert into|update|delete from) "(\w+)"/

/**
 * Counts the changes this process made to data that may be cached in memory. A change counts when others can
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
    if (table === undefined || uncachedTables.has(table)) return
    if (this.#transactions.has(connection)) this.#transactions.set(connection, true)
    else this.count++
  }

  endTransaction(connection: DatabaseConnection): void {
    if (this.#transactions.get(connection)) this.count++
    this.#transactions.delete(connection)
  }
}
