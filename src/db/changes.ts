import type { CompiledQuery, DatabaseConnection } from 'kysely'

/** Tables that change all the time: nothing the hot path remembers is read from them. */
const hotTables = new Set([
  'nodes',
  'stored_responses',
  'stored_pages',
  'stored_item_ids',
  'conversations',
  'conversation_items',
  'generation_contents',
  'generation_feedback',
])

const write = /^(?:insert into|update|delete from) "(\w+)"/

/**
 * Counts the changes this process made to what may be remembered in memory. A change counts when others
 * can see it: at the end of its statement, or of its transaction.
 */
export class Changes {
  count = 0
  /** Connections in a transaction, and whether it changed anything. */
  readonly #open = new WeakMap<DatabaseConnection, boolean>()

  began(connection: DatabaseConnection): void {
    this.#open.set(connection, false)
  }

  ran(connection: DatabaseConnection, { sql }: CompiledQuery): void {
    const table = write.exec(sql)?.[1]
    if (table === undefined || hotTables.has(table)) return
    if (this.#open.has(connection)) this.#open.set(connection, true)
    else this.count++
  }

  ended(connection: DatabaseConnection): void {
    if (this.#open.get(connection)) this.count++
    this.#open.delete(connection)
  }
}
