import { type Selectable, sql } from 'kysely'
import { type Db, inSnapshot } from '../db/db.ts'
import type { CatalogueEditTable } from '../db/schema.ts'

export type EditRow = Selectable<CatalogueEditTable>

/** What tells one edit from another. */
export type EditName = Pick<EditRow, 'kind' | 'name' | 'tag'>

/** In an order that is the same on every node. */
export async function listEdits(db: Db): Promise<EditRow[]> {
  const rows = await db.selectFrom('catalogue_edits').selectAll().execute()
  return rows.sort(byName)
}

/** Not left to the databases, which sort texts by rules of their own. */
export function byName(a: EditName, b: EditName): number {
  const [left, right] = [JSON.stringify([a.kind, a.name, a.tag]), JSON.stringify([b.kind, b.name, b.tag])]
  return left < right ? -1 : Number(left > right)
}

/** Grows with every edit, whoever makes it. */
export async function catalogueVersion(db: Db): Promise<number> {
  const { value } = await db
    .selectFrom('instance')
    .select('value')
    .where('name', '=', 'catalogue_version')
    .executeTakeFirstOrThrow()
  return Number(value)
}

/** The edits, with the version they belong to. */
export function readEdits(db: Db): Promise<{ version: number; rows: EditRow[] }> {
  return inSnapshot(db, async (tx) => ({ version: await catalogueVersion(tx), rows: await listEdits(tx) }))
}

/** Edits are made one after another: whoever comes second waits here. */
export async function nextCatalogueVersion(tx: Db): Promise<number> {
  const { value } = await tx
    .updateTable('instance')
    .set({ value: sql<string>`cast(cast(value as bigint) + 1 as text)` })
    .where('name', '=', 'catalogue_version')
    .returning('value')
    .executeTakeFirstOrThrow()
  return Number(value)
}

export async function saveEdit(tx: Db, row: EditRow): Promise<void> {
  const { fields, sealed_secrets, updated_at } = row
  await tx
    .insertInto('catalogue_edits')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['kind', 'name', 'tag']).doUpdateSet({ fields, sealed_secrets, updated_at }),
    )
    .execute()
}

export async function removeEdit(tx: Db, { kind, name, tag }: EditName): Promise<void> {
  await tx
    .deleteFrom('catalogue_edits')
    .where('kind', '=', kind)
    .where('name', '=', name)
    .where('tag', '=', tag)
    .execute()
}
