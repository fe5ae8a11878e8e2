import type { Selectable } from 'kysely'
import type { Db } from '../db/db.ts'
import { fetchPage, type RowPage } from '../db/page.ts'
import type { NotificationTable } from '../db/schema.ts'
import type { Pagination } from '../lib/query-params.ts'
import type { Reach } from '../permissions/grant.ts'

export type Notification = Selectable<NotificationTable>

export interface NotificationScope {
  organizationId: string
  reach: Reach
  workspaceId?: string | undefined
  unreadOnly?: boolean | undefined
}

/** Those within reach, newest first. */
export function listNotifications(
  db: Db,
  scope: NotificationScope,
  page: Pagination,
): Promise<RowPage<Notification>> {
  let query = db.selectFrom('notifications').selectAll().where('organization_id', '=', scope.organizationId)
  if (!scope.reach.everywhere) query = query.where('workspace_id', 'in', ['', ...scope.reach.workspaceIds])
  if (scope.workspaceId) query = query.where('workspace_id', '=', scope.workspaceId)
  if (scope.unreadOnly) query = query.where('read_at', 'is', null)
  return fetchPage(query, page, ['created_at', 'id'], 'desc')
}

export function findNotification(
  db: Db,
  organizationId: string,
  id: string,
): Promise<Notification | undefined> {
  return db
    .selectFrom('notifications')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
}

export function setRead(tx: Db, id: string, readAt: string | null): Promise<Notification> {
  return tx
    .updateTable('notifications')
    .set({ read_at: readAt })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** How many were unread. */
export async function setAllRead(
  tx: Db,
  { organizationId, reach }: NotificationScope,
  readAt: string,
): Promise<number> {
  let query = tx
    .updateTable('notifications')
    .set({ read_at: readAt })
    .where('organization_id', '=', organizationId)
    .where('read_at', 'is', null)
  if (!reach.everywhere) query = query.where('workspace_id', 'in', ['', ...reach.workspaceIds])
  const { numUpdatedRows } = await query.executeTakeFirst()
  return Number(numUpdatedRows)
}
