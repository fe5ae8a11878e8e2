import type { Gateway } from '../../../gateway/gateway.ts'
import { type Budget, computeEffectivePolicy } from '../../../governance/policy/effective.ts'
import type { Guardrail } from '../../../governance/policy/guardrail.ts'
import { listLimits } from '../../../governance/policy/limits.ts'
import { loadWorkspaceLayers } from '../../../governance/policy/store.ts'
import type { ApiKey } from '../../../identity/keys.ts'
import { findMemberLimit } from '../../../identity/member-limits.ts'
import { displayNameOf, type Member } from '../../../identity/members.ts'
import { loadWorkspaceBudgets, type Workspace } from '../../../identity/workspaces.ts'
import { loadCreditTotals } from '../../../ledger/entries.ts'
import { type Meter, newMeter } from '../../../ledger/meter.ts'
import { loadMetersForDay } from '../../../ledger/meter-days.ts'
import { meterSubjects } from '../../../ledger/meter-subjects.ts'
import { windowByReset } from '../../../ledger/usage.ts'
import { utcDay } from '../../../platform/time/time.ts'
import { type BudgetNode, type NodeLimit, statusOf, toLimitRecord, toWindowRecords } from './record.ts'
import { type BudgetRow, loadBudgetsOf, loadKeyGuardrails, loadMemberGuardrails } from './store.ts'

/** Owner in the id of keys that no member created. */
export const noMember = 'none'

export const nodeIds = {
  organization: 'organization',
  workspace: (id: string) => `workspace:${id}`,
  member: (workspaceId: string, userId: string | null) => `member:${workspaceId}:${userId ?? noMember}`,
  key: (hash: string) => `key:${hash}`,
}

type Meters = ReadonlyMap<string, Meter>

async function loadMeters({ db, clock }: Gateway, subjects: readonly string[]): Promise<Meters> {
  const meters = await loadMetersForDay(db, subjects, utcDay(clock.now()))
  return new Map(meters.map((meter) => [meter.subject, meter]))
}

function meterOf(meters: Meters, subject: string): Meter {
  return meters.get(subject) ?? newMeter(subject)
}

type NodeNames = Pick<BudgetNode, 'id' | 'kind' | 'name'> &
  Partial<Pick<BudgetNode, 'workspace_id' | 'user_id' | 'key_hash' | 'disabled'>>

function toNode(
  { clock }: Gateway,
  names: NodeNames,
  { meter, limits }: { meter: Meter; limits: readonly NodeLimit[] },
): BudgetNode {
  const now = clock.now()
  return {
    workspace_id: null,
    user_id: null,
    key_hash: null,
    disabled: false,
    ...names,
    windows: toWindowRecords(meter, now),
    limits: limits.map((limit) => toLimitRecord(limit, meter, now)),
    blocks_first: null,
  }
}

export async function loadOrganizationNode(
  gateway: Gateway,
  { id, name }: { id: string; name: string },
): Promise<BudgetNode> {
  const subject = meterSubjects.organization(id)
  const [{ total }, meters] = await Promise.all([
    loadCreditTotals(gateway.db, id),
    loadMeters(gateway, [subject]),
  ])
  const credits: NodeLimit = {
    nodeId: nodeIds.organization,
    guardrailId: null,
    limit: { kind: 'credits', subject, window: 'total', includeByok: false, amount: total },
  }
  const names = { id: nodeIds.organization, kind: 'organization', name } as const
  return toNode(gateway, names, { meter: meterOf(meters, subject), limits: [credits] })
}

export async function loadWorkspaceNodes(
  gateway: Gateway,
  workspaces: readonly Workspace[],
): Promise<BudgetNode[]> {
  const ids = workspaces.map(({ id }) => id)
  const [budgets, meters] = await Promise.all([
    loadBudgetsOf(gateway.db, ids),
    loadMeters(gateway, ids.map(meterSubjects.workspace)),
  ])
  const byWorkspace = Map.groupBy(budgets, (row) => row.workspace_id)
  return workspaces.map((workspace) => {
    const { id, name } = workspace
    const limits = (byWorkspace.get(id) ?? []).map((row) => toWorkspaceLimit(workspace, row))
    const names = { id: nodeIds.workspace(id), kind: 'workspace', name, workspace_id: id } as const
    return toNode(gateway, names, { meter: meterOf(meters, meterSubjects.workspace(id)), limits })
  })
}

function toWorkspaceLimit(workspace: Workspace, { interval, limit_nanos }: BudgetRow): NodeLimit {
  return {
    nodeId: nodeIds.workspace(workspace.id),
    guardrailId: null,
    limit: {
      kind: 'workspace',
      subject: meterSubjects.workspace(workspace.id),
      window: windowByReset[interval],
      includeByok: workspace.include_byok_in_budgets === 1,
      amount: limit_nanos,
    },
  }
}

export async function loadMemberNodes(
  gateway: Gateway,
  workspaceId: string,
  members: readonly Member[],
): Promise<BudgetNode[]> {
  const ids = members.map(({ id }) => id)
  const [guardrails, meters] = await Promise.all([
    loadMemberGuardrails(gateway.db, workspaceId, ids),
    loadMeters(
      gateway,
      ids.map((id) => meterSubjects.member(workspaceId, id)),
    ),
  ])
  return members.map((member) => {
    const { id, active } = member
    const subject = meterSubjects.member(workspaceId, id)
    const names = {
      ...{ id: nodeIds.member(workspaceId, id), kind: 'member' as const, name: displayNameOf(member) },
      ...{ workspace_id: workspaceId, user_id: id, disabled: active === 0 },
    }
    const limits = listMemberLimits(guardrails.get(id), { nodeId: names.id, subject })
    return toNode(gateway, names, { meter: meterOf(meters, subject), limits })
  })
}

function listMemberLimits(
  guardrail: Guardrail | undefined,
  { nodeId, subject }: { nodeId: string; subject: string },
): NodeLimit[] {
  return computeEffectivePolicy({ member: guardrail }).budgets.map((budget) => ({
    nodeId,
    guardrailId: budget.guardrail_id,
    limit: {
      kind: 'guardrail',
      subject,
      window: windowByReset[budget.reset_interval ?? 'lifetime'],
      includeByok: budget.include_byok_in_budgets,
      amount: budget.limit_nanos,
    },
  }))
}

/** The keys that no member created have no meter together: each has its own. */
export function buildOwnerlessNode(gateway: Gateway, workspaceId: string): BudgetNode {
  const names = {
    ...{ id: nodeIds.member(workspaceId, null), kind: 'member' as const, name: null },
    workspace_id: workspaceId,
  }
  return { ...toNode(gateway, names, { meter: newMeter(''), limits: [] }), windows: [] }
}

interface KeyOwner {
  workspace: Workspace
  userId: string | null
  /** Whether the caller may see the credits of the organization. */
  seesCredits: boolean
}

/** Loads nodes of keys with the same owner: what applies to all of them is loaded once. */
export async function loadKeyNodes(
  gateway: Gateway,
  keys: readonly ApiKey[],
  { workspace, userId, seesCredits }: KeyOwner,
): Promise<BudgetNode[]> {
  const { db } = gateway
  const organizationId = workspace.organization_id
  const [layers, members, guardrails, budgets, credits, limit] = await Promise.all([
    loadWorkspaceLayers(db, organizationId, workspace.id),
    loadMemberGuardrails(db, workspace.id, userId === null ? [] : [userId]),
    loadKeyGuardrails(
      db,
      keys.map(({ id }) => id),
    ),
    loadWorkspaceBudgets(db, workspace.id),
    loadCreditTotals(db, organizationId),
    findMemberLimit(db, userId),
  ])
  const limitsOf = (key: ApiKey) => {
    const member = members.get(userId ?? '')
    const policy = computeEffectivePolicy({ ...layers, member, key: guardrails.get(key.id) })
    const { budgets: fromGuardrails } = policy
    const sources = {
      grantedCredits: credits.total,
      workspace: budgets,
      member: limit,
      budgets: fromGuardrails,
    }
    return nameLimits(key, listLimits(key, sources), { budgets: policy.budgets, seesCredits })
  }
  const shared = [
    meterSubjects.organization(organizationId),
    meterSubjects.workspace(workspace.id),
    meterSubjects.member(workspace.id, userId ?? noMember),
    meterSubjects.memberTotal(userId ?? noMember),
  ]
  const meters = await loadMeters(gateway, [...shared, ...keys.map(({ id }) => meterSubjects.key(id))])
  return keys.map((key) => toKeyNode(gateway, key, { limits: limitsOf(key), meters }))
}

/** The limits of guardrails are in the order of their budgets. */
function nameLimits(
  key: ApiKey,
  limits: ReturnType<typeof listLimits>,
  { budgets, seesCredits }: { budgets: readonly Budget[]; seesCredits: boolean },
): NodeLimit[] {
  const rest = [...budgets]
  return limits.map((limit) => ({
    limit,
    nodeId: nodeIdOf(key, limit.subject),
    guardrailId: limit.kind === 'guardrail' ? (rest.shift()?.guardrail_id ?? null) : null,
    isHidden: limit.kind === 'credits' && !seesCredits,
  }))
}

function nodeIdOf(key: ApiKey, subject: string): string {
  if (subject === meterSubjects.key(key.id)) return nodeIds.key(key.hash)
  if (subject === meterSubjects.workspace(key.workspace_id)) return nodeIds.workspace(key.workspace_id)
  if (subject === meterSubjects.organization(key.organization_id)) return nodeIds.organization
  return nodeIds.member(key.workspace_id, key.creator_user_id)
}

function toKeyNode(
  gateway: Gateway,
  key: ApiKey,
  { limits, meters }: { limits: readonly NodeLimit[]; meters: Meters },
): BudgetNode {
  const subject = meterSubjects.key(key.id)
  const names = {
    ...{ id: nodeIds.key(key.hash), kind: 'key' as const, name: key.name, key_hash: key.hash },
    ...{ workspace_id: key.workspace_id, user_id: key.creator_user_id },
    disabled: key.disabled === 1 || key.suspended === 1,
  }
  const own = limits.filter(({ limit }) => limit.subject === subject)
  const first = findTightest(limits, meters)
  return {
    ...toNode(gateway, names, { meter: meterOf(meters, subject), limits: own }),
    blocks_first: first && toLimitRecord(first, meterOf(meters, first.limit.subject), gateway.clock.now()),
  }
}

/** The one with the least left; of several the one that is checked first. */
function findTightest(limits: readonly NodeLimit[], meters: Meters): NodeLimit | null {
  const leftOf = (named: NodeLimit) => statusOf(named, meterOf(meters, named.limit.subject)).available
  return limits.reduce<NodeLimit | null>(
    (tightest, next) => (tightest && leftOf(tightest) <= leftOf(next) ? tightest : next),
    null,
  )
}
