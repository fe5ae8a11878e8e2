import type { Insertable, Selectable } from 'kysely'
import type { Scope } from '../../identity/permissions/grant.ts'
import type { Db } from '../../platform/db/db.ts'
import { fetchPage, type RowPage } from '../../platform/db/page.ts'
import type { NotificationDeliveryTable, NotificationTable } from '../../platform/db/schema.ts'
import type { Pagination } from '../../platform/validation/query-params.ts'
import { openPeriod } from './alert.ts'

export type Notification = Selectable<NotificationTable>

export interface NotificationFilter {
  organizationId: string
  scope: Scope
  workspaceId?: string | undefined
  unreadOnly?: boolean | undefined
}

/** Lists the notifications in the scope, newest first. */
export function listNotifications(
  db: Db,
  scope: NotificationFilter,
  page: Pagination,
): Promise<RowPage<Notification>> {
  let query = db.selectFrom('notifications').selectAll().where('organization_id', '=', scope.organizationId)
  if (!scope.scope.everywhere) query = query.where('workspace_id', 'in', ['', ...scope.scope.workspaceIds])
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

/** Marks all as read; returns the number that were unread. */
export async function setAllRead(
  tx: Db,
  { organizationId, scope }: NotificationFilter,
  readAt: string,
): Promise<number> {
  let query = tx
    .updateTable('notifications')
    .set({ read_at: readAt })
    .where('organization_id', '=', organizationId)
    .where('read_at', 'is', null)
  if (!scope.everywhere) query = query.where('workspace_id', 'in', ['', ...scope.workspaceIds])
  const { numUpdatedRows } = await query.executeTakeFirst()
  return Number(numUpdatedRows)
}

/** Finds the existing notifications with one of these subjects, with the rules that they are sent for. */
export async function findExisting(
  db: Db,
  organizationId: string,
  kind: Notification['kind'],
  subjects: readonly string[],
  periods: readonly string[],
) {
  return db
    .selectFrom('notifications')
    .leftJoin('notification_deliveries as delivery', 'delivery.notification_id', 'notifications.id')
    .select(['notifications.id', 'subject', 'level', 'period', 'delivery.rule_id'])
    .distinct()
    .where('notifications.organization_id', '=', organizationId)
    .where('kind', '=', kind)
    .where('subject', 'in', subjects)
    .where('period', 'in', periods)
    .execute()
}

/** Returns its id, whichever node was first. */
export async function insertNotification(tx: Db, row: Notification): Promise<string> {
  await tx
    .insertInto('notifications')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['organization_id', 'kind', 'subject', 'level', 'period']).doNothing(),
    )
    .execute()
  const { id } = await tx
    .selectFrom('notifications')
    .select('id')
    .where('organization_id', '=', row.organization_id)
    .where('kind', '=', row.kind)
    .where('subject', '=', row.subject)
    .where('level', '=', row.level)
    .where('period', '=', row.period)
    .executeTakeFirstOrThrow()
  return id
}

export async function insertDeliveries(
  tx: Db,
  rows: readonly Insertable<NotificationDeliveryTable>[],
): Promise<void> {
  if (rows.length === 0) return
  await tx
    .insertInto('notification_deliveries')
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(['notification_id', 'rule_id', 'channel', 'address']).doNothing(),
    )
    .execute()
}

/** The conditions of a kind that held when they were last evaluated. */
export function listOpen(db: Db, kind: Notification['kind'], before: string) {
  return db
    .selectFrom('notifications')
    .select(['id', 'organization_id', 'subject', 'level'])
    .where('kind', '=', kind)
    .where('period', '=', openPeriod)
    .where('created_at', '<', before)
    .execute()
}

export async function closeNotification(db: Db, id: string, now: string): Promise<void> {
  await db
    .updateTable('notifications')
    .set({ period: now })
    .where('id', '=', id)
    .where('period', '=', openPeriod)
    .execute()
}

const retentionBatch = 500

/** Deletes old notifications, except those of conditions that still hold. */
export async function deleteOldNotifications(db: Db, before: string): Promise<void> {
  const old = await db
    .selectFrom('notifications')
    .select('id')
    .where('created_at', '<', before)
    .where('period', '<>', openPeriod)
    .orderBy('created_at')
    .limit(retentionBatch)
    .execute()
  if (old.length === 0) return
  const ids = old.map(({ id }) => id)
  await db.transaction().execute(async (tx) => {
    await tx.deleteFrom('notification_deliveries').where('notification_id', 'in', ids).execute()
    await tx.deleteFrom('notifications').where('id', 'in', ids).execute()
  })
}

/** False while another node evaluates, or did so a moment ago. */
export async function takeTurn(db: Db, now: string, until: string): Promise<boolean> {
  await db
    .insertInto('instance')
    .values({ name: turnName, value: '' })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  const { numUpdatedRows } = await db
    .updateTable('instance')
    .set({ value: until })
    .where('name', '=', turnName)
    .where('value', '<', now)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

const turnName = 'notifications_turn'
