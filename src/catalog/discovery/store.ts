import { type Selectable, sql } from 'kysely'
import { newTimeOrderedHex } from '../../platform/crypto/ids.ts'
import { type Db, runInSnapshot } from '../../platform/db/db.ts'
import { fetchPage, type RowPage } from '../../platform/db/page.ts'
import type { ModelListChangeTable, ModelListTable } from '../../platform/db/schema.ts'
import type { Pagination } from '../../platform/validation/query-params.ts'
import { compareLists } from './compare-lists.ts'
import { type ListedModel, listedModel } from './listed-model.ts'

export type ModelListRow = Selectable<ModelListTable>
export type ModelListChangeRow = Selectable<ModelListChangeTable>

/** Changes that are kept, of all providers. */
const maxChanges = 20_000

const versionName = 'model_lists_version'

export async function readListsVersion(db: Db): Promise<number> {
  const { value } = await db
    .selectFrom('instance')
    .select('value')
    .where('name', '=', versionName)
    .executeTakeFirstOrThrow()
  return Number(value)
}

export function readLists(db: Db): Promise<{ version: number; rows: ModelListRow[] }> {
  return runInSnapshot(db, async (tx) => ({
    version: await readListsVersion(tx),
    rows: await tx.selectFrom('model_lists').selectAll().orderBy('provider').execute(),
  }))
}

/** Another version may have written the row: what this one cannot read is left out. */
export function parseList({ models }: Pick<ModelListRow, 'models'>): ListedModel[] {
  return (JSON.parse(models) as unknown[]).flatMap((entry) => listedModel.safeParse(entry).data ?? [])
}

export function findList(db: Db, provider: string): Promise<ModelListRow | undefined> {
  return db.selectFrom('model_lists').selectAll().where('provider', '=', provider).executeTakeFirst()
}

/** Whether the list is due, and no other node reads it. */
export async function claimList(db: Db, provider: string, now: string, dueBefore: string): Promise<boolean> {
  const unread = { provider, models: '[]', refreshed_at: null, checked_at: '', problem: null }
  await db
    .insertInto('model_lists')
    .values(unread)
    .onConflict((conflict) => conflict.column('provider').doNothing())
    .execute()
  const claimed = await db
    .updateTable('model_lists')
    .set({ checked_at: now })
    .where('provider', '=', provider)
    .where('checked_at', '<=', dueBefore)
    .returning('provider')
    .executeTakeFirst()
  return claimed !== undefined
}

export async function saveProblem(db: Db, provider: string, now: string, problem: string): Promise<void> {
  const failed = { checked_at: now, problem }
  await db
    .insertInto('model_lists')
    .values({ provider, models: '[]', refreshed_at: null, ...failed })
    .onConflict((conflict) => conflict.column('provider').doUpdateSet(failed))
    .execute()
}

/** Stores a reading of a list and what has changed since the one before; the first is no change. */
export function saveList(db: Db, provider: string, now: string, models: ListedModel[]): Promise<void> {
  return db.transaction().execute(async (tx) => {
    await moveVersion(tx, 0)
    const before = await findList(tx, provider)
    const read = { models: JSON.stringify(models), refreshed_at: now, checked_at: now, problem: null }
    if (before?.models !== read.models) await moveVersion(tx, 1)
    await tx
      .insertInto('model_lists')
      .values({ provider, ...read })
      .onConflict((conflict) => conflict.column('provider').doUpdateSet(read))
      .execute()
    if (before && before.refreshed_at !== null)
      await saveChanges(tx, provider, now, parseList(before), models)
  })
}

/** Locks the row of the version, which serializes nodes. Nodes load lists again when it has moved. */
async function moveVersion(tx: Db, by: 0 | 1): Promise<void> {
  await tx
    .updateTable('instance')
    .set({ value: sql<string>`cast(cast(value as bigint) + ${sql.lit(by)} as text)` })
    .where('name', '=', versionName)
    .execute()
}

async function saveChanges(
  tx: Db,
  provider: string,
  now: string,
  before: ListedModel[],
  after: ListedModel[],
): Promise<void> {
  const encode = (model: ListedModel | null) => model && JSON.stringify(model)
  const rows = compareLists(before, after).map((change) => ({
    id: newTimeOrderedHex(),
    provider,
    model: change.model,
    kind: change.kind,
    before: encode(change.before),
    after: encode(change.after),
    created_at: now,
  }))
  for (let start = 0; start < rows.length; start += 200)
    await tx
      .insertInto('model_list_changes')
      .values(rows.slice(start, start + 200))
      .execute()
  if (rows.length > 0) await deleteOldChanges(tx)
}

async function deleteOldChanges(tx: Db): Promise<void> {
  const oldest = await tx
    .selectFrom('model_list_changes')
    .select('id')
    .orderBy('id', 'desc')
    .offset(maxChanges)
    .limit(1)
    .executeTakeFirst()
  if (oldest) await tx.deleteFrom('model_list_changes').where('id', '<=', oldest.id).execute()
}

export function listChanges(
  db: Db,
  provider: string | undefined,
  page: Pagination,
): Promise<RowPage<ModelListChangeRow>> {
  const all = db.selectFrom('model_list_changes').selectAll()
  return fetchPage(provider === undefined ? all : all.where('provider', '=', provider), page, ['id'], 'desc')
}
