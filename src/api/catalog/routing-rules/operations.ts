import { z } from 'zod'
import { resolveCoveredWorkspaces, resolveReachableWorkspace } from '../../../access/reachable-workspace.ts'
import { transact } from '../../../access/transact.ts'
import { listRuleRows, type RoutingRuleRow } from '../../../governance/routing-rules/store.ts'
import { defineOperation } from '../../../http/operation.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { assertWithinScope } from '../../../identity/permissions/grant.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { assertModelsExist, createRuleRow, deleteRuleRow } from './changes.ts'
import { dryRunOperation } from './dry-run.ts'
import {
  createRuleBody,
  describeRule,
  encodeAction,
  ruleRecord,
  toRuleRecord,
  updateRuleBody,
} from './record.ts'
import { routingRules, saveRule } from './store.ts'

const tag = 'Routing rules'
const idParam = z.object({ id: z.uuid().toLowerCase() })
const ruleResponse = z.strictObject({ data: ruleRecord })

const listRoutingRules = defineOperation({
  id: 'listRoutingRules',
  method: 'GET',
  path: '/routing-rules',
  tag,
  summary: 'Lists the routing rules of the organization and its workspaces, in the order they are tried.',
  permission: 'routing_rules:read',
  query: z.strictObject({
    workspace_id: z
      .uuid()
      .optional()
      .describe('Only those that requests of this workspace meet. Defaults to every workspace.'),
  }),
  response: z.strictObject({ data: z.array(ruleRecord) }),
  handle: async (context) => {
    const { gateway, caller, query } = context
    const workspaces = await resolveCoveredWorkspaces(gateway.db, context, query.workspace_id)
    const rows = await listRuleRows(gateway.db, caller.organizationId)
    const isListed = ({ workspace_id: id }: RoutingRuleRow) =>
      workspaces === null || id === null || workspaces.has(id)
    return { data: rows.filter(isListed).map(toRuleRecord) }
  },
})

const createRoutingRule = defineOperation({
  id: 'createRoutingRule',
  method: 'POST',
  path: '/routing-rules',
  tag,
  summary: 'Creates a rule that changes where requests are routed, tags them or rejects them.',
  description:
    'The first rule whose condition holds applies to a request, before its models are resolved: what the key, its guardrails and its workspace allow is checked afterwards. A rule whose condition cannot be evaluated does not apply. Try it on past requests first with `POST /routing-rules/dry-run`.',
  permission: 'routing_rules:write',
  body: createRuleBody,
  status: 201,
  errors: [409],
  response: ruleResponse,
  handle: async (context) => {
    const { gateway, caller, scope } = context
    const { workspace_id: sentId, ...draft } = context.body
    const workspaceId =
      sentId == null ? null : (await resolveReachableWorkspace(gateway.db, context, sentId)).id
    assertWithinScope(scope, { workspaceId })
    const place = { organization_id: caller.organizationId, workspace_id: workspaceId }
    const row = await transact(context, (tx, record) => createRuleRow({ gateway, tx, record }, place, draft))
    return { data: toRuleRecord(row) }
  },
})

const getRoutingRule = defineOperation({
  id: 'getRoutingRule',
  method: 'GET',
  path: '/routing-rules/{id}',
  tag,
  summary: 'Retrieves a routing rule.',
  permission: 'routing_rules:read',
  params: idParam,
  errors: [404],
  response: ruleResponse,
  handle: async (context) => ({
    data: toRuleRecord(await routingRules.require(context.gateway.db, context)),
  }),
})

const updateRoutingRule = defineOperation({
  id: 'updateRoutingRule',
  method: 'PATCH',
  path: '/routing-rules/{id}',
  tag,
  summary: 'Changes a routing rule, its position, or whether it is enabled. Fields that are not sent stay.',
  description: '`then` is replaced as a whole. Requests that begin afterwards meet the changed rule.',
  permission: 'routing_rules:write',
  params: idParam,
  body: updateRuleBody,
  errors: [404],
  response: ruleResponse,
  handle: (context) =>
    transact(context, async (tx, record) => {
      const { gateway, caller, body } = context
      await lockOrganization(tx, caller.organizationId)
      const row = await routingRules.lock(tx, context)
      if (body.then) await assertModelsExist(gateway, tx, row, body.then)
      const changed: RoutingRuleRow = {
        ...row,
        name: body.name ?? row.name,
        description: body.description === undefined ? row.description : body.description,
        position: body.position ?? row.position,
        enabled: body.enabled === undefined ? row.enabled : body.enabled ? 1 : 0,
        condition: body.when ?? row.condition,
        action: body.then ? encodeAction(body.then) : row.action,
        updated_at: isoNow(gateway.clock),
      }
      await saveRule(tx, changed)
      record({ action: 'routing_rule.update', ...describeRule(row), before: row, after: changed })
      return { data: toRuleRecord(changed) }
    }),
})

const deleteRoutingRule = defineOperation({
  id: 'deleteRoutingRule',
  method: 'DELETE',
  path: '/routing-rules/{id}',
  tag,
  summary: 'Deletes a routing rule.',
  permission: 'routing_rules:write',
  params: idParam,
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (context) =>
    transact(context, async (tx, record) => {
      await lockOrganization(tx, context.caller.organizationId)
      await deleteRuleRow({ tx, record }, await routingRules.lock(tx, context))
      return { deleted: true as const }
    }),
})

export const routingRuleOperations = [
  listRoutingRules,
  createRoutingRule,
  dryRunOperation,
  getRoutingRule,
  updateRoutingRule,
  deleteRoutingRule,
]
