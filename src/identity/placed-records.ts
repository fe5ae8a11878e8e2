import type { Selectable } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import type { Schema } from '../platform/db/schema.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import { assertWithinScope, type Scope } from './permissions/grant.ts'

/** Records of an organization that may belong to one of its workspaces. */
type PlacedTable = 'model_aliases' | 'routing_rules' | 'shadows'

/** A request that names a record by its id. */
interface RecordRequest {
  caller: { organizationId: string }
  scope: Scope
  params: { id: string }
}

interface PlacedRecords<Table extends PlacedTable> {
  require(db: Db, request: RecordRequest): Promise<Selectable<Schema[Table]>>
  /** Locks the record until the transaction ends. */
  lock(tx: Db, request: RecordRequest): Promise<Selectable<Schema[Table]>>
}

/** Finds records that the caller may act on. `name` is what messages call one, such as "model alias". */
export function findPlacedRecords<Table extends PlacedTable>(table: Table, name: string): PlacedRecords<Table>
export function findPlacedRecords(table: PlacedTable, name: string): PlacedRecords<PlacedTable> {
  return {
    async require(db, { caller, scope, params }) {
      const row = await db
        .selectFrom(table)
        .selectAll()
        .where('organization_id', '=', caller.organizationId)
        .where('id', '=', params.id)
        .executeTakeFirst()
      return assertReachable(scope, row, name)
    },
    async lock(tx, { caller, scope, params }) {
      const row = await tx
        .updateTable(table)
        .set((eb) => ({ updated_at: eb.ref('updated_at') }))
        .where('organization_id', '=', caller.organizationId)
        .where('id', '=', params.id)
        .returningAll()
        .executeTakeFirst()
      return assertReachable(scope, row, name)
    },
  }
}

/** Returns the record if it exists and the caller may act on it. */
export function assertReachable<Row extends { workspace_id: string | null }>(
  scope: Scope,
  row: Row | undefined,
  name: string,
): Row {
  if (!row) throw gatewayError('not_found', `The ${name} does not exist.`)
  assertWithinScope(scope, { workspaceId: row.workspace_id })
  return row
}
