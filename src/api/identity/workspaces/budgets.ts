import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import { defineOperation } from '../../../http/operation.ts'
import { assertWithinScope } from '../../../identity/permissions/grant.ts'
import {
  assertBudgetOrder,
  budgetIntervals,
  deleteBudget,
  listBudgets,
  putBudget,
  rankOf,
  type WorkspaceBudget,
} from '../../../identity/workspace-budgets.ts'
import {
  lockWorkspace,
  requireWorkspace,
  updateWorkspace,
  type Workspace,
} from '../../../identity/workspaces.ts'
import { toFlag } from '../../../platform/db/values.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { maxUsd, minUsd, usdFromNanos } from '../../../platform/money/money.ts'
import { usdAmount } from '../../../platform/money/money-schema.ts'
import { describeWorkspace } from './record.ts'

const tag = 'Workspaces'

const interval = z.enum(budgetIntervals)

const budgetRecord = z
  .strictObject({
    id: z.uuid(),
    workspace_id: z.uuid(),
    limit_usd: z.number(),
    reset_interval: interval.describe('How often the budget resets; `lifetime` never resets.'),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ id: 'WorkspaceBudget' })

const includeByok = z.boolean().describe('Whether BYOK spend counts toward the budgets of this workspace.')
const budgetResponse = z.strictObject({ data: budgetRecord, include_byok_in_budgets: includeByok })

const workspaceRef = z.string().min(1).describe('The UUID or slug of the workspace.')
const workspaceParam = z.object({ workspace_ref: workspaceRef })
const budgetParams = z.object({ workspace_ref: workspaceRef, interval })

const listWorkspaceBudgets = defineOperation({
  id: 'listWorkspaceBudgets',
  method: 'GET',
  path: '/workspaces/{workspace_ref}/budgets',
  tag,
  summary: 'Lists the budgets of a workspace, daily first.',
  permission: 'budgets:read',
  params: workspaceParam,
  errors: [404],
  response: z.strictObject({ data: z.array(budgetRecord), include_byok_in_budgets: includeByok }),
  handle: async ({ gateway, caller, scope, params }) => {
    const workspace = await requireWorkspace(gateway.db, caller.organizationId, params.workspace_ref)
    assertWithinScope(scope, { workspaceId: workspace.id })
    const budgets = await listBudgets(gateway.db, workspace.id)
    return {
      data: budgets.toSorted((a, b) => rankOf(a) - rankOf(b)).map(toBudgetRecord),
      include_byok_in_budgets: workspace.include_byok_in_budgets === 1,
    }
  },
})

const getWorkspaceBudget = defineOperation({
  id: 'getWorkspaceBudget',
  method: 'GET',
  path: '/workspaces/{workspace_ref}/budgets/{interval}',
  tag,
  summary: 'Retrieves a budget of a workspace.',
  permission: 'budgets:read',
  params: budgetParams,
  errors: [404],
  response: budgetResponse,
  handle: async ({ gateway, caller, scope, params }) => {
    const workspace = await requireWorkspace(gateway.db, caller.organizationId, params.workspace_ref)
    assertWithinScope(scope, { workspaceId: workspace.id })
    const budgets = await listBudgets(gateway.db, workspace.id)
    const budget = budgets.find((candidate) => candidate.interval === params.interval)
    if (!budget) throw gatewayError('not_found', `The workspace has no ${params.interval} budget.`)
    return toBudgetResponse(workspace, budget)
  },
})

const putWorkspaceBudget = defineOperation({
  id: 'putWorkspaceBudget',
  method: 'PUT',
  path: '/workspaces/{workspace_ref}/budgets/{interval}',
  tag,
  summary: 'Creates or updates a budget of a workspace.',
  description: 'The budgets of a workspace must satisfy lifetime > monthly > weekly > daily.',
  permission: 'budgets:write',
  params: budgetParams,
  body: z.strictObject({
    limit_usd: z.number().min(minUsd).max(maxUsd).pipe(usdAmount),
    include_byok_in_budgets: includeByok.optional(),
  }),
  errors: [404],
  response: budgetResponse,
  handle: (request) =>
    transact(request, async (tx, record) => {
      const { gateway, caller, scope, params, body } = request
      const workspace = await lockWorkspace(tx, caller.organizationId, params.workspace_ref)
      assertWithinScope(scope, { workspaceId: workspace.id })
      const input = { workspaceId: workspace.id, interval: params.interval, limit: body.limit_usd }
      const existing = await listBudgets(tx, workspace.id)
      assertBudgetOrder(existing, { ...input, field: 'limit_usd' })
      const budget = await putBudget(tx, gateway.clock, input)
      const before = existing.find(({ interval }) => interval === params.interval) ?? null
      const action = before ? 'budget.update' : 'budget.create'
      record({ action, ...describeBudget(budget), before, after: budget })
      if (body.include_byok_in_budgets === undefined) return toBudgetResponse(workspace, budget)
      const changed = await updateWorkspace(tx, gateway.clock, workspace.id, {
        include_byok_in_budgets: toFlag(body.include_byok_in_budgets),
      })
      record({ action: 'workspace.update', ...describeWorkspace(changed), before: workspace, after: changed })
      return toBudgetResponse(changed, budget)
    }),
})

const deleteWorkspaceBudget = defineOperation({
  id: 'deleteWorkspaceBudget',
  method: 'DELETE',
  path: '/workspaces/{workspace_ref}/budgets/{interval}',
  tag,
  summary: 'Deletes a budget of a workspace, if it exists.',
  permission: 'budgets:write',
  params: budgetParams,
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (request) =>
    transact(request, async (tx, record) => {
      const { caller, scope, params } = request
      const workspace = await lockWorkspace(tx, caller.organizationId, params.workspace_ref)
      assertWithinScope(scope, { workspaceId: workspace.id })
      const before = await deleteBudget(tx, workspace.id, params.interval)
      if (before) record({ action: 'budget.delete', ...describeBudget(before), before })
      return { deleted: true as const }
    }),
})

export const budgetOperations = [
  listWorkspaceBudgets,
  getWorkspaceBudget,
  putWorkspaceBudget,
  deleteWorkspaceBudget,
]

function describeBudget({ id, interval, workspace_id }: WorkspaceBudget) {
  return { target: { type: 'budget', id, name: interval }, workspaceId: workspace_id }
}

function toBudgetResponse(workspace: Workspace, budget: WorkspaceBudget): z.input<typeof budgetResponse> {
  return { data: toBudgetRecord(budget), include_byok_in_budgets: workspace.include_byok_in_budgets === 1 }
}

function toBudgetRecord(budget: WorkspaceBudget): z.input<typeof budgetRecord> {
  return {
    id: budget.id,
    workspace_id: budget.workspace_id,
    limit_usd: usdFromNanos(budget.limit_nanos),
    reset_interval: budget.interval,
    created_at: budget.created_at,
    updated_at: budget.updated_at,
  }
}
