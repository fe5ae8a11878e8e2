import { z } from 'zod'
import type { Gateway } from '../../../gateway/gateway.ts'
import { defineOperation } from '../../../http/operation.ts'
import { findOrganization } from '../../../identity/organizations.ts'
import { assertWithinScope, type Scope } from '../../../identity/permissions/grant.ts'
import { requireWorkspace } from '../../../identity/workspaces.ts'
import { loadMetersForDay } from '../../../ledger/meter-days.ts'
import { windowByReset } from '../../../ledger/usage.ts'
import { utcDay } from '../../../platform/time/time.ts'
import { queryInteger } from '../../../platform/validation/query-params.ts'
import { findUsedBudgets, type UsedBudget } from './nearest-store.ts'
import { loadOrganizationNode } from './nodes.ts'
import { type LimitRecord, limitRecord, toLimitRecord } from './record.ts'

const nearBudget = limitRecord
  .omit({ node_id: true, guardrail_id: true })
  .extend({
    kind: z.enum(['credits', 'workspace', 'member', 'key']),
    name: z
      .string()
      .describe('The name of the organization, workspace or key, or the address of the member.'),
    workspace_id: z.string().nullable(),
    user_id: z.string().nullable().describe('The member, or the member who created the key.'),
    key_hash: z.string().nullable(),
    used: z.number().describe('What is spent, as a share of the limit.'),
  })
  .meta({ id: 'NearBudget' })

type NearBudget = z.input<typeof nearBudget>

const query = z.object({
  min_used: queryInteger({ min: 0, max: 100, fallback: 80 }).describe(
    'The least that is used, in percent of the limit.',
  ),
  workspace_id: z.uuid().optional().describe('Those of this workspace and its keys.'),
  limit: queryInteger({ min: 1, max: 100, fallback: 20 }),
})

export const listNearBudgets = defineOperation({
  id: 'listNearBudgets',
  method: 'GET',
  path: '/budgets/nearest',
  tag: 'Admin',
  summary:
    'Lists the budgets of which most is used, with a forecast: of workspaces, members and keys, and the credits.',
  description:
    'The most used first. Callers who may read only some workspaces see the budgets of these and of their keys. Budgets of guardrails are not listed.',
  permission: 'budgets:read',
  query,
  errors: [404],
  response: z.strictObject({ data: z.array(nearBudget) }),
  handle: async ({ gateway, caller, scope, query }) => {
    const { organizationId } = caller
    const { workspace_id, limit } = query
    if (workspace_id !== undefined) {
      await requireWorkspace(gateway.db, organizationId, workspace_id)
      assertWithinScope(scope, { workspaceId: workspace_id })
    }
    const workspaceIds = workspace_id === undefined ? listWorkspaces(scope) : [workspace_id]
    const minUsed = query.min_used / 100
    const day = utcDay(gateway.clock.now())
    const search = { organizationId, workspaceIds, minUsed, day, limit }
    const found = await describeBudgets(gateway, await findUsedBudgets(gateway.db, search))
    const credits = workspaceIds === null ? await describeCredits(gateway, organizationId) : []
    const data = [...credits, ...found].filter(({ used }) => used >= minUsed)
    return { data: data.sort((a, b) => b.used - a.used).slice(0, limit) }
  },
})

function listWorkspaces(scope: Scope): string[] | null {
  return scope.everywhere ? null : [...scope.workspaceIds]
}

/** The exact amounts: a meter may be at another day, and what nodes have reserved is not held. */
async function describeBudgets(gateway: Gateway, budgets: readonly UsedBudget[]): Promise<NearBudget[]> {
  const now = gateway.clock.now()
  const subjects = [...new Set(budgets.map(({ subject }) => subject))]
  const meters = await loadMetersForDay(gateway.db, subjects, utcDay(now))
  const bySubject = new Map(meters.map((meter) => [meter.subject, meter]))
  return budgets.flatMap((budget) => {
    const meter = bySubject.get(budget.subject)
    if (!meter) return []
    const limit = {
      kind: budget.kind,
      subject: budget.subject,
      window: windowByReset[budget.interval],
      includeByok: budget.include_byok === 1,
      amount: BigInt(budget.amount),
    }
    const record = toLimitRecord({ limit, nodeId: '', guardrailId: null }, meter, now)
    const { name, workspace_id, user_id, key_hash } = budget
    return toNearBudget(record, { kind: budget.kind, name, workspace_id, user_id, key_hash })
  })
}

async function describeCredits(gateway: Gateway, organizationId: string): Promise<NearBudget[]> {
  const organization = await findOrganization(gateway.db, organizationId)
  if (!organization) return []
  const { limits, name } = await loadOrganizationNode(gateway, organization)
  const owner = {
    kind: 'credits',
    name: name ?? '',
    workspace_id: null,
    user_id: null,
    key_hash: null,
  } as const
  return limits.flatMap((limit) => toNearBudget(limit, owner))
}

type Owner = Pick<NearBudget, 'kind' | 'name' | 'workspace_id' | 'user_id' | 'key_hash'>

/** Nothing for a limit of nothing. */
function toNearBudget(record: LimitRecord, owner: Owner): NearBudget[] {
  const { node_id: _node, guardrail_id: _guardrail, ...rest } = record
  const { limit, spent } = rest
  return limit === null || spent === null || limit <= 0 ? [] : [{ ...rest, ...owner, used: spent / limit }]
}
