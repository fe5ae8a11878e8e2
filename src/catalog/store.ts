import { type Selectable, sql } from 'kysely'
import { type Db, runInSnapshot } from '../platform/db/db.ts'
import type { CatalogEditTable } from '../platform/db/schema.ts'

export type OverrideRow = Selectable<CatalogEditTable>

/** Identifies an override. */
export type OverrideKey = Pick<OverrideRow, 'kind' | 'name' | 'tag'>

/** Lists overrides in the same order on every node. */
export async function listOverrides(db: Db): Promise<OverrideRow[]> {
  const rows = await db.selectFrom('catalogue_edits').selectAll().execute()
  return rows.sort(compareOverrideKeys)
}

/** Sorted here because the collations of the databases differ. */
export function compareOverrideKeys(a: OverrideKey, b: OverrideKey): number {
  const [left, right] = [JSON.stringify([a.kind, a.name, a.tag]), JSON.stringify([b.kind, b.name, b.tag])]
  return left < right ? -1 : Number(left > right)
}

/** Increases with every override, on any node. */
export async function readCatalogVersion(db: Db): Promise<number> {
  const { value } = await db
    .selectFrom('instance')
    .select('value')
    .where('name', '=', 'catalogue_version')
    .executeTakeFirstOrThrow()
  return Number(value)
}

/** The overrides, with their version. */
export function readOverrides(db: Db): Promise<{ version: number; rows: OverrideRow[] }> {
  return runInSnapshot(db, async (tx) => ({
    version: await readCatalogVersion(tx),
    rows: await listOverrides(tx),
  }))
}

/** Serializes changes: the update locks the row of the version. */
export async function incrementCatalogVersion(tx: Db): Promise<number> {
  const { value } = await tx
    .updateTable('instance')
    .set({ value: sql<string>`cast(cast(value as bigint) + 1 as text)` })
    .where('name', '=', 'catalogue_version')
    .returning('value')
    .executeTakeFirstOrThrow()
  return Number(value)
}

export async function saveOverride(tx: Db, row: OverrideRow): Promise<void> {
  const { fields, sealed_secrets, updated_at } = row
  await tx
    .insertInto('catalogue_edits')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['kind', 'name', 'tag']).doUpdateSet({ fields, sealed_secrets, updated_at }),
    )
    .execute()
}

export async function removeOverride(tx: Db, { kind, name, tag }: OverrideKey): Promise<void> {
  await tx
    .deleteFrom('catalogue_edits')
    .where('kind', '=', kind)
    .where('name', '=', name)
    .where('tag', '=', tag)
    .execute()
}
