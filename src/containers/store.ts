import type { Insertable, Selectable } from 'kysely'
import { tryLockWorkspace } from '../identity/workspaces.ts'
import type { Db } from '../platform/db/db.ts'
import type { ContainerTable } from '../platform/db/schema.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import { stripRestart } from './ids.ts'

export type Container = Selectable<ContainerTable>

/** Finds a container by its id, with or without the suffix of a restart. */
export async function findContainer(db: Db, workspaceId: string, id: string): Promise<Container | undefined> {
  const stripped = stripRestart(id)
  const rows = await db
    .selectFrom('containers')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('id', 'in', stripped === null ? [id] : [id, stripped])
    .execute()
  return rows.find((row) => row.id === id) ?? rows.find((row) => row.id === stripped && row.nonce !== null)
}

/**
 * Inserts under the lock of the workspace: of two requests that start the same container, one finds that of the other.
 */
export async function insertContainer(db: Db, row: Insertable<ContainerTable>): Promise<Container> {
  return db.transaction().execute(async (tx) => {
    if (!(await tryLockWorkspace(tx, row.organization_id, row.workspace_id)))
      throw gatewayError('forbidden', 'workspace_id: the workspace was deleted.')
    const existing = await findContainer(tx, row.workspace_id, row.id)
    return existing ?? tx.insertInto('containers').values(row).returningAll().executeTakeFirstOrThrow()
  })
}

type ContainerKey = Pick<Container, 'workspace_id' | 'home'>

/** Undefined if the container was deleted. */
export async function updateContainer(
  db: Db,
  { workspace_id, home }: ContainerKey,
  changes: Partial<Pick<Container, 'network_policy' | 'nonce' | 'size_bytes' | 'last_used_at'>>,
): Promise<Container | undefined> {
  return db
    .updateTable('containers')
    .set(changes)
    .where('workspace_id', '=', workspace_id)
    .where('home', '=', home)
    .returningAll()
    .executeTakeFirst()
}

/** Deletes a container unless it has been used since `last_used_at`; returns whether it was deleted. */
export async function deleteContainer(db: Db, container: Container): Promise<boolean> {
  const deleted = await db
    .deleteFrom('containers')
    .where('workspace_id', '=', container.workspace_id)
    .where('home', '=', container.home)
    .where('last_used_at', '=', container.last_used_at)
    .returning('home')
    .executeTakeFirst()
  return deleted !== undefined
}

/** Lists the containers whose last command is older, the oldest first. */
export async function listUnused(
  db: Db,
  where: { folderId: string; workspaceId?: string; before: string; limit: number },
): Promise<Container[]> {
  const { workspaceId } = where
  return db
    .selectFrom('containers')
    .selectAll()
    .where('folder_id', '=', where.folderId)
    .where('last_used_at', '<', where.before)
    .$if(workspaceId !== undefined, (query) => query.where('workspace_id', '=', workspaceId ?? ''))
    .orderBy('last_used_at', 'asc')
    .limit(where.limit)
    .execute()
}

/** Sums the containers of a workspace in a folder. */
export async function sumContainers(
  db: Db,
  workspaceId: string,
  folderId: string,
): Promise<{ count: number; bytes: number }> {
  const row = await db
    .selectFrom('containers')
    .select((eb) => [eb.fn.countAll().as('count'), eb.fn.sum('size_bytes').as('bytes')])
    .where('workspace_id', '=', workspaceId)
    .where('folder_id', '=', folderId)
    .executeTakeFirst()
  return { count: Number(row?.count ?? 0), bytes: Number(row?.bytes ?? 0) }
}

/** Selects the homes that belong to a container. */
export async function filterUsedHomes(db: Db, folderId: string, homes: string[]): Promise<Set<string>> {
  const rows = await db
    .selectFrom('containers')
    .select('home')
    .where('folder_id', '=', folderId)
    .where('home', 'in', homes)
    .execute()
  return new Set(rows.map(({ home }) => home))
}
