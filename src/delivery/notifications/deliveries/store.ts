import type { Updateable } from 'kysely'
import type { Db } from '../../../platform/db/db.ts'
import type { NotificationDeliveryTable } from '../../../platform/db/schema.ts'

/** Messages that are due and that no node sends, those that have waited longest first. */
export async function listDueMessages(db: Db, now: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('notification_deliveries')
    .select(['message_id', (eb) => eb.fn.min('due_at').as('due')])
    .where('state', '=', 'pending')
    .where('due_at', '<=', now)
    .where((eb) => eb.or([eb('lease_until', 'is', null), eb('lease_until', '<', now)]))
    .groupBy('message_id')
    .orderBy('due')
    .limit(limit)
    .execute()
  return rows.map(({ message_id }) => message_id)
}

/** Due or not. */
export async function hasPendingMessages(db: Db): Promise<boolean> {
  const query = db.selectFrom('notification_deliveries').select('message_id').where('state', '=', 'pending')
  return (await query.limit(1).executeTakeFirst()) !== undefined
}

export interface MessageLease {
  owner: string
  now: string
  until: string
}

export type ClaimedDelivery = Awaited<ReturnType<typeof claimMessage>>[number]

/** Leases a message and returns its deliveries; none if another node was faster. */
export async function claimMessage(db: Db, messageId: string, { owner, now, until }: MessageLease) {
  const { numUpdatedRows } = await db
    .updateTable('notification_deliveries')
    .set({ lease_owner: owner, lease_until: until })
    .where('message_id', '=', messageId)
    .where('state', '=', 'pending')
    .where('due_at', '<=', now)
    .where((eb) => eb.or([eb('lease_until', 'is', null), eb('lease_until', '<', now)]))
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return []
  return db
    .selectFrom('notification_deliveries as delivery')
    .innerJoin('notifications', 'notifications.id', 'delivery.notification_id')
    .select([
      'delivery.notification_id',
      'delivery.rule_id',
      'delivery.organization_id',
      'channel',
      'address',
    ])
    .select(['is_digest', 'attempts', 'notifications.workspace_id', 'kind', 'title', 'text', 'data'])
    .select('notifications.created_at')
    .where('message_id', '=', messageId)
    .where('state', '=', 'pending')
    .where('lease_owner', '=', owner)
    .orderBy('notifications.created_at')
    .orderBy('notifications.id')
    .execute()
}

/** Completes a leased message; has no effect if another node has taken the lease. */
export async function completeMessage(
  db: Db,
  messageId: string,
  owner: string,
  changes: Updateable<NotificationDeliveryTable>,
): Promise<void> {
  await db
    .updateTable('notification_deliveries')
    .set({ ...changes, lease_owner: null, lease_until: null })
    .where('message_id', '=', messageId)
    .where('state', '=', 'pending')
    .where('lease_owner', '=', owner)
    .execute()
}
