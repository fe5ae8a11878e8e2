import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import { fetchPage, type RowPage } from '../platform/db/page.ts'
import type { Schema } from '../platform/db/schema.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import type { Pagination } from '../platform/validation/query-params.ts'

/** Records of a workspace that hold secrets: deleting one keeps its row and wipes its secrets. */
type SoftDeleteTable = 'byok_keys' | 'destinations'
type StoreTimestamps = 'created_at' | 'updated_at' | 'deleted_at'

type Row<Table extends SoftDeleteTable> = Selectable<Schema[Table]>
type NewRow<Table extends SoftDeleteTable> = Omit<Insertable<Schema[Table]>, StoreTimestamps>
type Changes<Table extends SoftDeleteTable> = Omit<Updateable<Schema[Table]>, StoreTimestamps>

/** Deleted records count as absent in every method. */
interface SoftDeleteStore<Table extends SoftDeleteTable> {
  list(db: Db, scope: ListScope<Table>, page: Pagination): Promise<RowPage<Row<Table>>>
  insert(tx: Db, clock: Clock, row: NewRow<Table>): Promise<Row<Table>>
  find(db: Db, organizationId: string, id: string): Promise<Row<Table> | undefined>
  /** Locks a record, like `tryLockWorkspace`: a no-op update serializes changes to it. */
  lock(tx: Db, organizationId: string, id: string): Promise<Row<Table> | undefined>
  update(tx: Db, clock: Clock, id: string, changes: Changes<Table>): Promise<Row<Table>>
  /** Keeps the row, because past records refer to it. */
  remove(tx: Db, clock: Clock, id: string): Promise<Row<Table>>
}

interface ListScope<Table extends SoftDeleteTable> {
  workspaceIds: readonly string[]
  /** Columns and their values; undefined matches every value. */
  filters?: { [Column in keyof Row<Table>]?: Row<Table>[Column] | undefined }
}

interface SoftDeleteOptions<Table extends SoftDeleteTable> {
  /** The order of lists. Defaults to oldest first. */
  order?: (keyof Row<Table> & string)[]
  /** The columns that deletion overwrites. */
  wipe: Changes<Table>
}

export function createSoftDeleteStore<Table extends SoftDeleteTable>(
  table: Table,
  options: SoftDeleteOptions<Table>,
): SoftDeleteStore<Table>
export function createSoftDeleteStore(
  table: SoftDeleteTable,
  options: SoftDeleteOptions<SoftDeleteTable>,
): SoftDeleteStore<SoftDeleteTable> {
  return new UnionStore(table, options)
}

/** Typed over all tables at once, because the query builder cannot resolve the columns of a type parameter. */
class UnionStore implements SoftDeleteStore<SoftDeleteTable> {
  readonly #table: SoftDeleteTable
  readonly #options: SoftDeleteOptions<SoftDeleteTable>

  constructor(table: SoftDeleteTable, options: SoftDeleteOptions<SoftDeleteTable>) {
    this.#table = table
    this.#options = options
  }

  list(db: Db, { workspaceIds, filters = {} }: ListScope<SoftDeleteTable>, page: Pagination) {
    const live = db
      .selectFrom(this.#table)
      .selectAll()
      .where('workspace_id', 'in', workspaceIds)
      .where('deleted_at', 'is', null)
    const set = Object.entries(filters).filter(([, value]) => value !== undefined)
    const matching = set.reduce((query, [column, value]) => query.where(sql.ref(column), '=', value), live)
    return fetchPage(matching, page, this.#options.order)
  }

  insert(tx: Db, clock: Clock, row: NewRow<SoftDeleteTable>) {
    const now = isoNow(clock)
    return tx
      .insertInto(this.#table)
      .values({ ...row, created_at: now, updated_at: now, deleted_at: null })
      .returningAll()
      .executeTakeFirstOrThrow()
  }

  find(db: Db, organizationId: string, id: string) {
    return db
      .selectFrom(this.#table)
      .selectAll()
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .where('deleted_at', 'is', null)
      .executeTakeFirst()
  }

  lock(tx: Db, organizationId: string, id: string) {
    return tx
      .updateTable(this.#table)
      .set((eb) => ({ updated_at: eb.ref('updated_at') }))
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .where('deleted_at', 'is', null)
      .returningAll()
      .executeTakeFirst()
  }

  update(tx: Db, clock: Clock, id: string, changes: Changes<SoftDeleteTable>) {
    return tx
      .updateTable(this.#table)
      .set({ ...changes, updated_at: isoNow(clock) })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow()
  }

  remove(tx: Db, clock: Clock, id: string) {
    const now = isoNow(clock)
    return tx
      .updateTable(this.#table)
      .set({ ...this.#options.wipe, deleted_at: now, updated_at: now })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow()
  }
}
