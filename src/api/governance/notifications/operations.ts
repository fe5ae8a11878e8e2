import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import {
  findNotification,
  listNotifications,
  type Notification,
  setAllRead,
  setRead,
} from '../../../delivery/notifications/store.ts'
import { defineOperation } from '../../../http/operation.ts'
import { notificationKindNames } from '../../../identity/notification-rules.ts'
import { assertWithinScope } from '../../../identity/permissions/grant.ts'
import { requireWorkspace } from '../../../identity/workspaces.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { pageQuery, queryBoolean } from '../../../platform/validation/query-params.ts'

const tag = 'Notifications'

const notificationRecord = z
  .strictObject({
    id: z.uuid(),
    kind: z.enum(notificationKindNames),
    workspace_id: z.uuid().nullable().describe('Null if it concerns the whole organization.'),
    title: z.string(),
    text: z.string(),
    data: z.record(z.string(), z.unknown()).describe('The same facts for programs.'),
    created_at: z.string(),
    read_at: z.string().nullable(),
  })
  .meta({ id: 'Notification' })

const listAllNotifications = defineOperation({
  id: 'listNotifications',
  method: 'GET',
  path: '/notifications',
  tag,
  summary: 'Lists notifications, newest first.',
  description: 'They are kept for 90 days, and as long as what they report lasts.',
  permission: 'notifications:read',
  query: pageQuery.extend({
    workspace_id: z.uuid().optional(),
    unread: queryBoolean().optional().describe('`true`: only those not marked as read.'),
  }),
  errors: [404],
  response: z.strictObject({ data: z.array(notificationRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, scope, query }) => {
    const { organizationId } = caller
    if (query.workspace_id !== undefined) {
      const { id } = await requireWorkspace(gateway.db, organizationId, query.workspace_id)
      assertWithinScope(scope, { workspaceId: id })
    }
    const filter = { organizationId, scope, workspaceId: query.workspace_id, unreadOnly: query.unread }
    const { rows, total } = await listNotifications(gateway.db, filter, query)
    return { data: rows.map(toNotificationRecord), total_count: total }
  },
})

const updateNotification = defineOperation({
  id: 'updateNotification',
  method: 'PATCH',
  path: '/notifications/{id}',
  tag,
  summary: 'Marks a notification as read or unread, for everyone who sees it.',
  permission: 'notifications:write',
  params: z.object({ id: z.uuid().toLowerCase() }),
  body: z.strictObject({ read: z.boolean() }),
  errors: [404],
  response: z.strictObject({ data: notificationRecord }),
  handle: async ({ gateway, caller, scope, params, body, httpRequest }) => {
    const row = await transact({ gateway, caller, httpRequest }, async (tx, record) => {
      const before = await findNotification(tx, caller.organizationId, params.id)
      if (!before) throw gatewayError('not_found', 'The notification does not exist.')
      assertWithinScope(scope, { workspaceId: before.workspace_id })
      const after = await setRead(tx, before.id, body.read ? (before.read_at ?? isoNow(gateway.clock)) : null)
      record({
        action: 'notification.update',
        target: { type: 'notification', id: after.id, name: after.title },
        workspaceId: after.workspace_id,
        before: { read_at: before.read_at },
        after: { read_at: after.read_at },
      })
      return after
    })
    return { data: toNotificationRecord(row) }
  },
})

const readAllNotifications = defineOperation({
  id: 'readAllNotifications',
  method: 'POST',
  path: '/notifications/read',
  tag,
  summary: 'Marks all notifications as read, for everyone who sees them.',
  permission: 'notifications:write',
  response: z.strictObject({ data: z.strictObject({ marked: z.int() }) }),
  handle: ({ gateway, caller, scope, httpRequest }) =>
    transact({ gateway, caller, httpRequest }, async (tx, record) => {
      const { organizationId } = caller
      const marked = await setAllRead(tx, { organizationId, scope }, isoNow(gateway.clock))
      record({
        action: 'notification.read_all',
        target: { type: 'organization', id: organizationId },
        details: { marked },
      })
      return { data: { marked } }
    }),
})

export const notificationOperations = [listAllNotifications, updateNotification, readAllNotifications]

function toNotificationRecord(row: Notification): z.input<typeof notificationRecord> {
  const { id, kind, workspace_id, title, text, created_at, read_at } = row
  return { id, kind, workspace_id, title, text, data: JSON.parse(row.data), created_at, read_at }
}
