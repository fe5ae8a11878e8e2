import type { Catalog } from '../../catalog/catalog.ts'
import { blockEndUser, findBlocked } from '../../governance/blocked-end-users.ts'
import { assertWithinCeiling } from '../../identity/ceilings.ts'
import { updateKey } from '../../identity/key-changes.ts'
import { type ApiKey, findKeyByHash } from '../../identity/keys.ts'
import { changeMemberLimit, findMemberLimit } from '../../identity/member-limits.ts'
import {
  createMember,
  displayNameOf,
  findMemberByEmail,
  joinWorkspace,
  type Member,
} from '../../identity/members.ts'
import { addWorkspace, lockOrganization } from '../../identity/organizations.ts'
import { listBudgets, putBudget, type WorkspaceBudget } from '../../identity/workspace-budgets.ts'
import { tryLockWorkspace, type Workspace } from '../../identity/workspaces.ts'
import { meterSubjects } from '../../ledger/meter-subjects.ts'
import { type OpeningSpend, openMeter } from '../../ledger/opening-spend.ts'
import { toFlag } from '../../platform/db/values.ts'
import { describeKey } from '../identity/keys/find.ts'
import { type ImportOutcome, importKeys } from '../identity/keys/import-keys.ts'
import { describeWorkspace } from '../identity/workspaces/record.ts'
import { listUsersInWorkspace } from '../identity/workspaces/store.ts'
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
import { mergeExisting } from './imported-values.ts'
import { rememberImported } from './imported-values-store.ts'

/** Creates what is missing, and brings up to date what an earlier import created. */
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
  const existing = await tryLockWorkspace(tx, organizationId, slug)
  if (existing) return mergeWorkspace(input, existing, { budget, spend })
  const { rules, unknown } = await resolveModelRules(input, catalog, models)
  if (rules?.length === 0)
    return { ...item, outcome: 'skipped', message: `none of its models is here: ${unknown.join(', ')}` }
  const owner = { organizationId, createdBy: null }
  const workspace = await addWorkspace(tx, gateway.clock, owner, { slug, name })
  record({ action: 'workspace.create', ...describeWorkspace(workspace), after: workspace })
  if (budget) await setBudget(input, workspace, budget, null)
  await openMeter(tx, gateway.clock, toOpening(input, meterSubjects.workspace(workspace.id), spend, budget))
  await rememberImported(input, workspaceSubject(workspace), toBudgetFields(budget))
  if (rules) await restrictWorkspace(input, workspace, rules)
  const message = unknown.length > 0 ? `without the models ${unknown.join(', ')}, which are not here` : null
  return { ...item, outcome: 'created', message }
}

const workspaceSubject = ({ id }: Workspace) => `workspace:${id}`
const memberSubject = (id: string) => `member:${id}`
const keySubject = (id: number) => `key:${id}`

function toBudgetFields(budget: PlannedBudget | null) {
  return { budget: budget ? String(budget.amount) : null, reset: budget?.reset ?? null }
}

function toOpening(
  { organizationId }: ImportTransaction,
  subject: string,
  amount: bigint,
  budget: Pick<PlannedBudget, 'reset'> | null,
  inWindow = amount,
): OpeningSpend {
  const reset = budget?.reset
  return { organizationId, subject, amount, window: reset ? { reset, amount: inWindow } : null }
}

async function mergeWorkspace(
  input: ImportTransaction,
  workspace: Workspace,
  { budget, spend }: Pick<PlannedWorkspace, 'budget' | 'spend'>,
): Promise<ItemOutcome> {
  const budgets = await listBudgets(input.tx, workspace.id)
  const interval = budget?.reset ?? 'lifetime'
  const present = budgets.find((one) => one.interval === interval) ?? null
  return mergeExisting(input, {
    item: { kind: 'workspace', name: workspace.slug },
    subject: workspaceSubject(workspace),
    current: {
      budget: present && String(present.limit_nanos),
      reset: present ? (budget?.reset ?? null) : null,
    },
    planned: toBudgetFields(budget),
    opening: toOpening(input, meterSubjects.workspace(workspace.id), spend, budget),
    apply: async () => {
      if (budget) await setBudget(input, workspace, budget, present)
    },
  })
}

async function setBudget(
  { gateway, tx, record }: ImportTransaction,
  workspace: Workspace,
  budget: PlannedBudget,
  before: WorkspaceBudget | null,
): Promise<void> {
  const interval = budget.reset ?? 'lifetime'
  const after = await putBudget(tx, gateway.clock, {
    workspaceId: workspace.id,
    interval,
    limit: budget.amount,
  })
  const target = { type: 'budget', id: after.id, name: interval }
  record({
    action: before ? 'budget.update' : 'budget.create',
    target,
    workspaceId: workspace.id,
    before,
    after,
  })
}

async function importMember(input: ImportTransaction, planned: PlannedMember): Promise<ItemOutcome[]> {
  const { tx, organizationId } = input
  const item = { kind: 'member', name: planned.email }
  const known = await findMemberByEmail(tx, organizationId, planned.email)
  const member = known ?? (await addMember(input, planned))
  const outcomes: ItemOutcome[] = [
    known ? await mergeMember(input, known, planned) : { ...item, outcome: 'created', message: null },
  ]
  for (const slug of planned.workspaces) {
    const outcome = await joinMissing(input, slug, member)
    if (outcome)
      outcomes.push({ kind: 'membership', name: `${planned.email} ${slug}`, outcome, message: null })
  }
  return outcomes
}

async function mergeMember(
  input: ImportTransaction,
  member: Member,
  { budget, spend }: PlannedMember,
): Promise<ItemOutcome> {
  const { gateway, tx, record } = input
  const before = await findMemberLimit(tx, member.id)
  const target = { type: 'member', id: member.id, name: displayNameOf(member) }
  return mergeExisting(input, {
    item: { kind: 'member', name: member.email },
    subject: memberSubject(member.id),
    current: toBudgetFields(before && { amount: before.limit_nanos, reset: before.limit_reset }),
    planned: toBudgetFields(budget),
    // Counted while the member has a limit.
    opening: budget && toOpening(input, meterSubjects.memberTotal(member.id), spend, budget),
    apply: async () => {
      const changes = { limit: budget?.amount ?? null, reset: budget?.reset ?? null }
      const after = await changeMemberLimit(tx, gateway.clock, member.id, changes)
      record({ action: 'member.update', target, before: { ...before }, after: { ...after } })
    },
  })
}

async function addMember(input: ImportTransaction, { email, budget, spend }: PlannedMember): Promise<Member> {
  const { gateway, tx, record, organizationId } = input
  const { clock } = gateway
  const member = await createMember(tx, clock, { organizationId, email, role: 'org:member' })
  const limit =
    budget && (await changeMemberLimit(tx, clock, member.id, { limit: budget.amount, reset: budget.reset }))
  if (budget)
    await openMeter(tx, clock, toOpening(input, meterSubjects.memberTotal(member.id), spend, budget))
  await rememberImported(input, memberSubject(member.id), toBudgetFields(budget))
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
    { ...input, allowWeak: false },
    allowed.map(({ key }) => key),
  )
  const created = allowed.filter((_entry, index) => imported[index]?.outcome === 'created')
  await restrictKeys(input, created)
  const outcomes: ItemOutcome[] = []
  for (const [index, { key, unknown }] of allowed.entries())
    outcomes.push(await finishKey(input, key, imported[index], unknown))
  return [
    ...outcomes,
    ...blocked.map(({ key, unknown }) => ({
      kind: 'key',
      name: key.name,
      outcome: 'skipped' as const,
      message: `none of its models is here: ${unknown.join(', ')}`,
    })),
  ]
}

async function finishKey(
  input: ImportTransaction,
  key: PlannedKey['key'],
  imported: ImportOutcome | undefined,
  unknown: readonly string[],
): Promise<ItemOutcome> {
  const item = { kind: 'key', name: key.name }
  const row = imported?.outcome === 'rejected' ? undefined : await findKeyByHash(input.tx, key.hash)
  if (!row) return { ...item, outcome: 'skipped', message: imported?.message ?? null }
  const planned = {
    limit: key.limit == null ? null : String(key.limit),
    limit_reset: key.limit_reset ?? null,
    disabled: key.disabled ?? false,
  }
  if (imported?.outcome === 'created') {
    await rememberImported(input, keySubject(row.id), planned)
    const message = unknown.length > 0 ? `without the models ${unknown.join(', ')}, which are not here` : null
    return { ...item, outcome: 'created', message }
  }
  return mergeExisting(input, {
    item,
    subject: keySubject(row.id),
    current: {
      limit: row.limit_nanos === null ? null : String(row.limit_nanos),
      limit_reset: row.limit_reset,
      disabled: row.disabled === 1,
    },
    planned,
    opening: toOpening(
      input,
      meterSubjects.key(row.id),
      key.spend ?? 0n,
      { reset: key.limit_reset ?? null },
      key.spend_in_window ?? key.spend ?? 0n,
    ),
    apply: (changes) => changeKey(input, row, changes),
  })
}

async function changeKey(
  { gateway, tx, record }: ImportTransaction,
  before: ApiKey,
  changes: { limit?: string | null; limit_reset?: ApiKey['limit_reset']; disabled?: boolean },
): Promise<void> {
  const { limit, limit_reset, disabled } = changes
  const after = await updateKey(tx, gateway.clock, before.id, {
    ...(limit !== undefined && { limit_nanos: limit === null ? null : BigInt(limit) }),
    ...(limit_reset !== undefined && { limit_reset }),
    ...(disabled !== undefined && { disabled: toFlag(disabled) }),
  })
  record({ action: 'key.update', ...describeKey(after), before, after })
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
