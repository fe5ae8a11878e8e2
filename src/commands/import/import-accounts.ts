import { importKeys } from '../../api/identity/keys/import-keys.ts'
import { describeWorkspace } from '../../api/identity/workspaces/record.ts'
import { listUsersInWorkspace } from '../../api/identity/workspaces/store.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { blockEndUser, findBlocked } from '../../governance/blocked-end-users.ts'
import { assertWithinCeiling } from '../../identity/ceilings.ts'
import { changeMemberLimit } from '../../identity/member-limits.ts'
import {
  createMember,
  displayNameOf,
  findMemberByEmail,
  joinWorkspace,
  type Member,
} from '../../identity/members.ts'
import { addWorkspace, lockOrganization } from '../../identity/organizations.ts'
import { putBudget } from '../../identity/workspace-budgets.ts'
import { tryLockWorkspace, type Workspace } from '../../identity/workspaces.ts'
import { meterSubjects } from '../../ledger/meter-subjects.ts'
import { openMeter } from '../../ledger/opening-spend.ts'
import type { ImportTransaction } from './import-catalog.ts'
import { importLimits } from './import-limits.ts'
import { resolveModelRules, restrictKeys, restrictWorkspace } from './import-model-rules.ts'
import type {
  AccountPlan,
  ItemOutcome,
  PlannedBudget,
  PlannedKey,
  PlannedMember,
  PlannedWorkspace,
} from './import-plan.ts'
import { operatorScope } from './keys.ts'

/** Creates what is missing: those that exist stay as they are, with what they have spent. */
export async function importAccounts(
  input: ImportTransaction,
  catalog: Catalog,
  plan: AccountPlan,
): Promise<ItemOutcome[]> {
  await lockOrganization(input.tx, input.organizationId)
  const workspaces: ItemOutcome[] = []
  for (const workspace of plan.workspaces) workspaces.push(await importWorkspace(input, catalog, workspace))
  const members: ItemOutcome[] = []
  for (const member of plan.members) members.push(...(await importMember(input, member)))
  const { ceilings } = input.gateway.settings
  await assertWithinCeiling(input.tx, ceilings, 'workspaces', input.organizationId)
  await assertWithinCeiling(input.tx, ceilings, 'members', input.organizationId)
  return [
    ...workspaces,
    ...members,
    ...(await importPlannedKeys(input, catalog, plan.keys)),
    ...(await importLimits(input, plan.limits)),
    ...(await blockEndUsers(input, plan.blockedEndUsers)),
  ]
}

async function importWorkspace(
  input: ImportTransaction,
  catalog: Catalog,
  { slug, name, budget, spend, models }: PlannedWorkspace,
): Promise<ItemOutcome> {
  const { gateway, tx, record, organizationId } = input
  const item = { kind: 'workspace', name: slug }
  if (await tryLockWorkspace(tx, organizationId, slug)) return { ...item, outcome: 'existing', message: null }
  const { rules, unknown } = await resolveModelRules(input, catalog, models)
  if (rules?.length === 0)
    return { ...item, outcome: 'skipped', message: `none of its models is here: ${unknown.join(', ')}` }
  const owner = { organizationId, createdBy: null }
  const workspace = await addWorkspace(tx, gateway.clock, owner, { slug, name })
  record({ action: 'workspace.create', ...describeWorkspace(workspace), after: workspace })
  await addBudget(input, workspace, budget)
  await openMeter(tx, gateway.clock, {
    organizationId,
    subject: meterSubjects.workspace(workspace.id),
    amount: spend,
    window: budget?.reset ? { reset: budget.reset, amount: spend } : null,
  })
  if (rules) await restrictWorkspace(input, workspace, rules)
  const message = unknown.length > 0 ? `without the models ${unknown.join(', ')}, which are not here` : null
  return { ...item, outcome: 'created', message }
}

async function addBudget(
  { gateway, tx, record }: ImportTransaction,
  workspace: Workspace,
  budget: PlannedBudget | null,
): Promise<void> {
  if (!budget) return
  const interval = budget.reset ?? 'lifetime'
  const row = await putBudget(tx, gateway.clock, {
    workspaceId: workspace.id,
    interval,
    limit: budget.amount,
  })
  const target = { type: 'budget', id: row.id, name: interval }
  record({ action: 'budget.create', target, workspaceId: workspace.id, before: null, after: row })
}

async function importMember(input: ImportTransaction, planned: PlannedMember): Promise<ItemOutcome[]> {
  const { tx, organizationId } = input
  const item = { kind: 'member', name: planned.email }
  const known = await findMemberByEmail(tx, organizationId, planned.email)
  const member = known ?? (await addMember(input, planned))
  const outcomes: ItemOutcome[] = [{ ...item, outcome: known ? 'existing' : 'created', message: null }]
  for (const slug of planned.workspaces) {
    const outcome = await joinMissing(input, slug, member)
    if (outcome)
      outcomes.push({ kind: 'membership', name: `${planned.email} ${slug}`, outcome, message: null })
  }
  return outcomes
}

async function addMember(
  { gateway, tx, record, organizationId }: ImportTransaction,
  { email, budget, spend }: PlannedMember,
): Promise<Member> {
  const { clock } = gateway
  const member = await createMember(tx, clock, { organizationId, email, role: 'org:member' })
  const limit =
    budget && (await changeMemberLimit(tx, clock, member.id, { limit: budget.amount, reset: budget.reset }))
  if (budget)
    await openMeter(tx, clock, {
      organizationId,
      subject: meterSubjects.memberTotal(member.id),
      amount: spend,
      window: budget.reset ? { reset: budget.reset, amount: spend } : null,
    })
  const target = { type: 'member', id: member.id, name: displayNameOf(member) }
  record({ action: 'member.create', target, after: { ...member, ...limit } })
  return member
}

/** Null if the workspace does not exist. */
async function joinMissing(
  input: ImportTransaction,
  slug: string,
  member: Member,
): Promise<ItemOutcome['outcome'] | null> {
  const { gateway, tx, record, organizationId } = input
  const workspace = await tryLockWorkspace(tx, organizationId, slug)
  if (!workspace) return null
  const present = await listUsersInWorkspace(tx, workspace.id, [member.id])
  if (present.length > 0) return 'existing'
  const [membership] = await joinWorkspace(tx, gateway.clock, workspace.id, [member])
  const target = { type: 'workspace_member', id: member.id }
  record({
    action: 'workspace_member.create',
    target,
    workspaceId: workspace.id,
    before: null,
    after: membership ?? null,
  })
  return 'created'
}

async function importPlannedKeys(
  input: ImportTransaction,
  catalog: Catalog,
  planned: readonly PlannedKey[],
): Promise<ItemOutcome[]> {
  const resolved = []
  for (const { key, models } of planned)
    resolved.push({ key, ...(await resolveModelRules(input, catalog, models)) })
  const [allowed, blocked] = [
    resolved.filter(({ rules }) => rules?.length !== 0),
    resolved.filter(({ rules }) => rules?.length === 0),
  ]
  const imported = await importKeys(
    { ...input, scope: operatorScope, allowWeak: false },
    allowed.map(({ key }) => key),
  )
  const created = allowed.filter((_entry, index) => imported[index]?.outcome === 'created')
  await restrictKeys(input, created)
  return [
    ...imported.map(({ outcome, name, message }, index): ItemOutcome => {
      const unknown = outcome === 'created' ? (allowed[index]?.unknown ?? []) : []
      const dropped =
        unknown.length > 0 ? `without the models ${unknown.join(', ')}, which are not here` : null
      return {
        kind: 'key',
        name,
        outcome: outcome === 'rejected' ? 'skipped' : outcome,
        message: message ?? dropped,
      }
    }),
    ...blocked.map(({ key, unknown }) => ({
      kind: 'key',
      name: key.name,
      outcome: 'skipped' as const,
      message: `none of its models is here: ${unknown.join(', ')}`,
    })),
  ]
}

async function blockEndUsers(
  { gateway, tx, record, organizationId }: ImportTransaction,
  names: readonly string[],
): Promise<ItemOutcome[]> {
  const outcomes: ItemOutcome[] = []
  for (const name of names) {
    const [known] = await findBlocked(tx, organizationId, [name])
    outcomes.push({ kind: 'end user', name, outcome: known ? 'existing' : 'created', message: 'blocked' })
    if (known) continue
    await blockEndUser(tx, gateway.clock, { organizationId, name, reason: null })
    const target = { type: 'end_user', id: name, name }
    const [before, after] = [false, true].map((blocked) => ({ blocked, reason: null }))
    record({
      action: 'end_user.update',
      target,
      workspaceId: null,
      before: before ?? null,
      after: after ?? null,
    })
  }
  await assertWithinCeiling(tx, gateway.settings.ceilings, 'blocked_end_users', organizationId)
  return outcomes
}
