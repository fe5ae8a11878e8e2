import type { z } from 'zod'
import { scopeOf } from '../../../access/authorize.ts'
import type { Caller } from '../../../access/caller.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { RecordEvent } from '../../../governance/audit/transaction.ts'
import {
  type AttachedLimit,
  changeGuardrailBudget,
  findAttachedLimit,
} from '../../../governance/limits/attached-limit-store.ts'
import { lockKey, updateKey } from '../../../identity/key-changes.ts'
import { changeMemberLimit, findMemberLimit } from '../../../identity/member-limits.ts'
import { displayNameOf, requireMember } from '../../../identity/members.ts'
import { lockOrganization } from '../../../identity/organizations.ts'
import { assertWithinScope } from '../../../identity/permissions/grant.ts'
import {
  assertBudgetOrder,
  budgetIntervals,
  deleteBudget,
  listBudgets,
  putBudget,
} from '../../../identity/workspace-budgets.ts'
import { lockWorkspace } from '../../../identity/workspaces.ts'
import type { Db } from '../../../platform/db/db.ts'
import { toFlag } from '../../../platform/db/values.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { requireAmount } from './changes.ts'
import type { updateLimitBody } from './record.ts'

type Owner = Pick<AttachedLimit, 'source' | 'owner'>

interface Changing {
  gateway: Gateway
  caller: Caller
  tx: Db
  record: RecordEvent
}

/** Null removes the limit. */
interface AttachedChanges {
  amount: bigint | null | undefined
  includeByok: boolean | undefined
}

export function limitNotFoundError() {
  return gatewayError('not_found', 'The limit does not exist.')
}

/** Changes the limit of a record as its own operation does, with the permission of that operation. */
export async function updateAttachedLimit(
  changing: Changing,
  owner: Owner,
  body: z.output<typeof updateLimitBody>,
): Promise<AttachedLimit> {
  for (const field of ['name', 'enabled'] as const)
    if (body[field] !== undefined)
      throw invalidFieldError(field, `cannot be changed: the limit belongs to a ${owner.source}`)
  if (body.include_byok !== undefined && (owner.source === 'member' || owner.source === 'workspace'))
    throw invalidFieldError('include_byok', `cannot be changed here for the limit of a ${owner.source}`)
  const amount = body.amount === undefined ? undefined : requirePositive(requireAmount('usd', body.amount))
  await change(changing, owner, { amount, includeByok: body.include_byok })
  const changed = await findAttachedLimit(changing.tx, changing.caller.organizationId, owner)
  if (!changed) throw limitNotFoundError()
  return changed
}

export async function deleteAttachedLimit(changing: Changing, owner: Owner): Promise<void> {
  await change(changing, owner, { amount: null, includeByok: undefined })
}

/** Without a limit of the record there is nothing to change. */
async function change(changing: Changing, owner: Owner, changes: AttachedChanges): Promise<void> {
  const { tx, caller } = changing
  const limit = await findAttachedLimit(tx, caller.organizationId, owner)
  if (!limit) throw limitNotFoundError()
  switch (limit.source) {
    case 'key':
      return changeKey(changing, limit, changes)
    case 'member':
      return changeMember(changing, limit, changes)
    case 'workspace':
      return changeBudget(changing, limit, changes)
    case 'guardrail':
      return changeGuardrail(changing, limit, changes)
  }
}

/** A budget of nothing is a guardrail that allows no request: there are clearer ways to say so. */
function requirePositive(amount: bigint): bigint {
  if (amount > 0n) return amount
  throw invalidFieldError('amount', 'must be more than 0')
}

async function changeKey(
  { gateway, caller, tx, record }: Changing,
  { owner, workspaceId }: AttachedLimit,
  { amount, includeByok }: AttachedChanges,
): Promise<void> {
  // Not those who may change only the keys they created: these limits have a maximum.
  assertWithinScope(scopeOf(caller, 'keys:write'), { workspaceId })
  const before = await lockKey(tx, caller.organizationId, owner)
  if (!before) throw limitNotFoundError()
  const after = await updateKey(tx, gateway.clock, before.id, {
    ...(amount !== undefined && { limit_nanos: amount }),
    ...(includeByok !== undefined && { include_byok_in_limit: toFlag(includeByok) }),
  })
  record({
    action: 'key.update',
    target: { type: 'key', id: after.hash, name: after.name },
    workspaceId: after.workspace_id,
    before,
    after,
  })
}

async function changeMember(
  { gateway, caller, tx, record }: Changing,
  { owner }: AttachedLimit,
  { amount }: AttachedChanges,
): Promise<void> {
  assertWithinScope(scopeOf(caller, 'members:write'), { workspaceId: null })
  await lockOrganization(tx, caller.organizationId)
  const member = await requireMember(tx, caller.organizationId, owner)
  const before = await findMemberLimit(tx, owner)
  const after = await changeMemberLimit(tx, gateway.clock, owner, { limit: amount })
  record({
    action: 'member.update',
    target: { type: 'member', id: member.id, name: displayNameOf(member) },
    before: { ...member, limit_nanos: before?.limit_nanos ?? null, limit_reset: before?.limit_reset ?? null },
    after: { ...member, limit_nanos: after?.limit_nanos ?? null, limit_reset: after?.limit_reset ?? null },
  })
}

async function changeBudget(
  { gateway, caller, tx, record }: Changing,
  { owner, workspaceId }: AttachedLimit,
  { amount }: AttachedChanges,
): Promise<void> {
  assertWithinScope(scopeOf(caller, 'budgets:write'), { workspaceId })
  const workspace = await lockWorkspace(tx, caller.organizationId, workspaceId ?? '')
  const existing = await listBudgets(tx, workspace.id)
  const interval = budgetIntervals.find((name) => owner.endsWith(`:${name}`))
  const before = existing.find((budget) => budget.interval === interval)
  if (!before || !interval) throw limitNotFoundError()
  const described = { target: { type: 'budget' as const, id: before.id, name: interval }, workspaceId }
  if (amount === undefined) return
  if (amount === null) {
    await deleteBudget(tx, workspace.id, interval)
    return record({ action: 'budget.delete', ...described, before })
  }
  const input = { workspaceId: workspace.id, interval, limit: amount }
  assertBudgetOrder(existing, { ...input, field: 'amount' })
  const after = await putBudget(tx, gateway.clock, input)
  record({ action: 'budget.update', ...described, before, after })
}

async function changeGuardrail(
  { gateway, caller, tx, record }: Changing,
  { owner: id, workspaceId }: AttachedLimit,
  changes: AttachedChanges,
): Promise<void> {
  assertWithinScope(scopeOf(caller, 'guardrails:write'), { workspaceId })
  const { organizationId } = caller
  const changed = await changeGuardrailBudget(tx, gateway.clock, { organizationId, id }, changes)
  if (!changed) throw limitNotFoundError()
  const { before, after } = changed
  record({
    action: 'guardrail.update',
    target: { type: 'guardrail', id, name: after.name },
    workspaceId,
    before,
    after,
  })
}
