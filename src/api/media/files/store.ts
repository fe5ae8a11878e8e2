import { assertWithinCeiling, type Ceilings } from '../../../identity/ceilings.ts'
import { tryLockWorkspace } from '../../../identity/workspaces.ts'
import type { Db } from '../../../platform/db/db.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { type Clock, isoNow } from '../../../platform/time/clock.ts'
import type { StoredFile } from '../../../storage/stored-files.ts'

export type NewFile = Omit<StoredFile, 'seq' | 'created_at'>

/** Uploads to one workspace are serialized here, so that neither the quota nor the page order can be raced. */
export async function addFile(
  tx: Db,
  clock: Clock,
  file: NewFile,
  { quotaBytes, ceilings }: { quotaBytes: number; ceilings: Ceilings },
): Promise<StoredFile> {
  if (!(await tryLockWorkspace(tx, file.organization_id, file.workspace_id))) {
    throw gatewayError('forbidden', 'workspace_id: the workspace was deleted.')
  }
  const free = quotaBytes - (await sumStoredBytes(tx, file.workspace_id))
  if (file.size_bytes > free) throw storageFullError(quotaBytes)
  const row = await tx
    .insertInto('files')
    .values({ ...file, created_at: isoNow(clock) })
    .returningAll()
    .executeTakeFirstOrThrow()
  await assertWithinCeiling(tx, ceilings, 'files', file.workspace_id)
  return row
}

/** The target of an event. */
export function describeFile({ id, filename, workspace_id: workspaceId }: StoredFile) {
  return { target: { type: 'file', id, name: filename }, workspaceId }
}

export function storageFullError(quotaBytes: number) {
  return gatewayError('storage_full', undefined, { quota_bytes: quotaBytes })
}

export async function sumStoredBytes(db: Db, workspaceId: string): Promise<number> {
  const row = await db
    .selectFrom('files')
    .select((eb) => eb.fn.coalesce(eb.fn.sum('size_bytes'), eb.lit(0)).as('used'))
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
  return Number(row?.used ?? 0)
}

/** The deleted row; undefined if there was none. */
export async function removeFile(tx: Db, workspaceId: string, id: string): Promise<StoredFile | undefined> {
  return tx
    .deleteFrom('files')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/** The given ids that have a row, in any workspace: for the sweep only. */
export async function filterIdsWithRow(db: Db, ids: string[]): Promise<Set<string>> {
  const rows = await db.selectFrom('files').select('id').where('id', 'in', ids).execute()
  return new Set(rows.map((row) => row.id))
}
