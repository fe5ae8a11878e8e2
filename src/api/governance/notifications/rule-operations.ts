import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import { channelResult, testChannels } from '../../../delivery/notifications/deliveries/test-channels.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import {
  deleteRule,
  dropPending,
  findRule,
  insertRule,
  listChannels,
  listRules,
  lockRule,
  type NotificationRule,
  updateRule,
} from '../../../identity/notification-rules.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { assertWithinScope, type Scope } from '../../../identity/permissions/grant.ts'
import { assertReachable } from '../../../identity/placed-records.ts'
import { requireWorkspace } from '../../../identity/workspaces.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import { toFlag } from '../../../platform/db/values.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import { createRuleBody, ruleRecord, toRuleRecord, updateRuleBody } from './rule-record.ts'
import { resolveThreshold, toChannelColumns, toWorkspaceId } from './rule-settings.ts'

const tag = 'Notifications'
const idParam = z.object({ id: z.uuid().toLowerCase() })
const ruleResponse = z.strictObject({ data: ruleRecord })

const listNotificationRules = defineOperation({
  id: 'listNotificationRules',
  method: 'GET',
  path: '/notifications/rules',
  tag,
  summary: 'Lists the rules of notifications, oldest first.',
  permission: 'notifications:read',
  query: pageQuery,
  response: z.strictObject({ data: z.array(ruleRecord), total_count: z.int() }),
  handle: async ({ gateway, caller, scope, query }) => {
    const { organizationId } = caller
    const { rows, total } = await listRules(gateway.db, { organizationId, scope }, query)
    return { data: rows.map((row) => toRuleRecord(gateway.vault, row)), total_count: total }
  },
})

const createNotificationRule = defineOperation({
  id: 'createNotificationRule',
  method: 'POST',
  path: '/notifications/rules',
  tag,
  summary: 'Creates a rule: what to notify, from which threshold, and where.',
  permission: 'notifications:write',
  body: createRuleBody,
  status: 201,
  errors: [404, 409],
  response: ruleResponse,
  handle: async ({ gateway, caller, scope, body, httpRequest }) => {
    const { organizationId } = caller
    const id = newUuid()
    const workspaceId = toWorkspaceId(body)
    if (workspaceId !== null) await requireWorkspace(gateway.db, organizationId, workspaceId)
    assertWithinScope(scope, { workspaceId })
    const settings = {
      threshold: resolveThreshold(body.kind, body.threshold),
      ...{ emails: '[]', webhook_url: null, sealed_webhook_secret: null },
      ...toChannelColumns(gateway, id, body.channels ?? {}),
      digest: body.digest ?? 'immediate',
      enabled: toFlag(body.enabled ?? true),
    }
    const row = await transact({ gateway, caller, httpRequest }, async (tx, record) => {
      await lockOrganization(tx, organizationId)
      const created = await insertRule(tx, gateway.clock, {
        ...settings,
        id,
        organization_id: organizationId,
        workspace_id: workspaceId,
        kind: body.kind,
      })
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'notification_rules', organizationId)
      record({ action: 'notification_rule.create', ...describeRule(created), after: { ...created } })
      return created
    })
    return { data: toRuleRecord(gateway.vault, row) }
  },
})

const getNotificationRule = defineOperation({
  id: 'getNotificationRule',
  method: 'GET',
  path: '/notifications/rules/{id}',
  tag,
  summary: 'Retrieves a rule.',
  permission: 'notifications:read',
  params: idParam,
  errors: [404],
  response: ruleResponse,
  handle: async ({ gateway, caller, scope, params }) => {
    const row = requireReachable(await findRule(gateway.db, caller.organizationId, params.id), scope)
    return { data: toRuleRecord(gateway.vault, row) }
  },
})

const updateNotificationRule = defineOperation({
  id: 'updateNotificationRule',
  method: 'PATCH',
  path: '/notifications/rules/{id}',
  tag,
  summary: 'Updates a rule. Fields that are not sent stay unchanged.',
  permission: 'notifications:write',
  params: idParam,
  body: updateRuleBody,
  errors: [404],
  response: ruleResponse,
  handle: async ({ gateway, caller, scope, params, body, httpRequest }) => {
    const row = await transact({ gateway, caller, httpRequest }, async (tx, record) => {
      const before = requireReachable(await lockRule(tx, caller.organizationId, params.id), scope)
      const after = await updateRule(tx, gateway.clock, before.id, {
        ...(body.threshold !== undefined && { threshold: resolveThreshold(before.kind, body.threshold) }),
        ...(body.channels && toChannelColumns(gateway, before.id, body.channels)),
        ...(body.digest && { digest: body.digest }),
        ...(body.enabled !== undefined && { enabled: toFlag(body.enabled) }),
      })
      const remaining = after.enabled === 1 ? listChannels(after).map(({ address }) => address) : []
      await dropPending(tx, after.id, remaining)
      record({
        action: 'notification_rule.update',
        ...describeRule(after),
        before: { ...before },
        after: { ...after },
      })
      return after
    })
    return { data: toRuleRecord(gateway.vault, row) }
  },
})

const deleteNotificationRule = defineOperation({
  id: 'deleteNotificationRule',
  method: 'DELETE',
  path: '/notifications/rules/{id}',
  tag,
  summary: 'Deletes a rule. What it had not sent yet is not sent any more.',
  permission: 'notifications:write',
  params: idParam,
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: ({ gateway, caller, scope, params, httpRequest }) =>
    transact({ gateway, caller, httpRequest }, async (tx, record) => {
      const row = requireReachable(await lockRule(tx, caller.organizationId, params.id), scope)
      await deleteRule(tx, row.id)
      record({ action: 'notification_rule.delete', ...describeRule(row), before: { ...row } })
      return { deleted: true as const }
    }),
})

const testNotificationRule = defineOperation({
  id: 'testNotificationRule',
  method: 'POST',
  path: '/notifications/rules/{id}/test',
  tag,
  summary: 'Sends a test message to the addresses of a rule and returns the outcome of each.',
  permission: 'notifications:write',
  params: idParam,
  errors: [404],
  response: z.strictObject({ data: z.array(channelResult) }),
  handle: async ({ gateway, caller, scope, params, httpRequest }) => {
    const row = requireReachable(await findRule(gateway.db, caller.organizationId, params.id), scope)
    await transact({ gateway, caller, httpRequest }, async (_, record) => {
      record({ action: 'notification_rule.test', ...describeRule(row) })
    })
    return { data: await testChannels(gateway, row) }
  },
})

export const notificationRuleOperations = [
  listNotificationRules,
  createNotificationRule,
  getNotificationRule,
  updateNotificationRule,
  deleteNotificationRule,
  testNotificationRule,
]

function requireReachable(row: NotificationRule | undefined, scope: Scope): NotificationRule {
  return assertReachable(scope, row, 'notification rule')
}

function describeRule(row: NotificationRule) {
  return { target: { type: 'notification_rule', id: row.id, name: row.kind }, workspaceId: row.workspace_id }
}
