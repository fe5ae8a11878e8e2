import type { Selectable } from 'kysely'
import { isVisibleTo, type RecordReader } from '../../../identity/shared-records.ts'
import type { Db } from '../../../platform/db/db.ts'
import { fetchPage, type RowPage } from '../../../platform/db/page.ts'
import type { SavedViewTable } from '../../../platform/db/schema.ts'
import type { Pagination } from '../../../platform/validation/query-params.ts'

export type SavedViewRow = Selectable<SavedViewTable>

export async function listViews(
  db: Db,
  reader: RecordReader,
  screen: string | undefined,
  page: Pagination,
): Promise<RowPage<SavedViewRow>> {
  const all = visibleViews(db, reader)
  return fetchPage(screen === undefined ? all : all.where('screen', '=', screen), page, ['name', 'id'])
}

export async function findView(db: Db, reader: RecordReader, id: string): Promise<SavedViewRow | undefined> {
  return visibleViews(db, reader).where('id', '=', id).executeTakeFirst()
}

function visibleViews(db: Db, reader: RecordReader) {
  return db.selectFrom('saved_views').selectAll().where(isVisibleTo(reader))
}

export async function insertView(tx: Db, row: SavedViewRow): Promise<void> {
  await tx.insertInto('saved_views').values(row).execute()
}

export async function saveView(tx: Db, { id, ...row }: SavedViewRow): Promise<void> {
  const { name, search, visibility, workspace_id, updated_at } = row
  await tx
    .updateTable('saved_views')
    .set({ name, search, visibility, workspace_id, updated_at })
    .where('id', '=', id)
    .execute()
}

export async function deleteView(tx: Db, id: string): Promise<void> {
  await tx.deleteFrom('saved_views').where('id', '=', id).execute()
}
