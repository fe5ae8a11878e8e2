import type { Selectable } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import { fetchPage, type RowPage } from '../platform/db/page.ts'
import type { ManagedRecordTable } from '../platform/db/schema.ts'
import type { Pagination } from '../platform/validation/query-params.ts'
import type { RecordKindName } from './record-kinds.ts'

export type ManagedRecordRow = Selectable<ManagedRecordTable>

export interface RecordReference {
  organizationId: string
  kind: RecordKindName
  recordId: string
}

export async function listManagedRecords(
  db: Db,
  {
    organizationId,
    set,
    kind,
  }: { organizationId: string; set?: string | undefined; kind?: string | undefined },
  page: Pagination,
): Promise<RowPage<ManagedRecordRow>> {
  let all = db.selectFrom('managed_records').selectAll().where('organization_id', '=', organizationId)
  if (set !== undefined) all = all.where('set_name', '=', set)
  if (kind !== undefined) all = all.where('kind', '=', kind)
  return fetchPage(all, page, ['kind', 'record_id'])
}

export async function findManagedRecord(
  db: Db,
  { organizationId, kind, recordId }: RecordReference,
): Promise<ManagedRecordRow | undefined> {
  return db
    .selectFrom('managed_records')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('kind', '=', kind)
    .where('record_id', '=', recordId)
    .executeTakeFirst()
}

/** The set of each record that has one, by its id. */
export async function findSets(
  db: Db,
  organizationId: string,
  kinds: readonly RecordKindName[],
  recordIds: readonly string[],
): Promise<Map<string, string>> {
  if (recordIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('managed_records')
    .select(['record_id', 'set_name'])
    .where('organization_id', '=', organizationId)
    .where('kind', 'in', kinds)
    .where('record_id', 'in', recordIds)
    .execute()
  return new Map(rows.map(({ record_id, set_name }) => [record_id, set_name]))
}

/** Replaces what was said of the record, and of a deleted one that had its name. */
export async function saveManagedRecord(tx: Db, row: ManagedRecordRow): Promise<void> {
  await tx
    .deleteFrom('managed_records')
    .where('organization_id', '=', row.organization_id)
    .where('kind', '=', row.kind)
    .where((where) =>
      where.or([
        where('record_id', '=', row.record_id),
        where.and([where('set_name', '=', row.set_name), where('name', '=', row.name)]),
      ]),
    )
    .execute()
  await tx.insertInto('managed_records').values(row).execute()
}

export async function deleteManagedRecord(
  tx: Db,
  { organizationId, kind, recordId }: RecordReference,
): Promise<ManagedRecordRow | undefined> {
  return tx
    .deleteFrom('managed_records')
    .where('organization_id', '=', organizationId)
    .where('kind', '=', kind)
    .where('record_id', '=', recordId)
    .returningAll()
    .executeTakeFirst()
}
