import type { ApiKey } from '../../identity/keys.ts'
import type { MemberLimit } from '../../identity/member-limits.ts'
import type { WorkspaceBudgets } from '../../identity/workspaces.ts'
import type { Limit } from '../../ledger/ledger-state.ts'
import { meterSubjects } from '../../ledger/meter-subjects.ts'
import { windowByReset } from '../../ledger/usage.ts'
import type { BudgetInterval } from '../../platform/db/schema.ts'
import type { Budget } from './effective.ts'

export interface LimitSources {
  /** Total credits granted to the organization, in nano-dollars. */
  grantedCredits: bigint
  workspace: WorkspaceBudgets
  /** Limit of the member who created the key. */
  member: MemberLimit | null
  /** Budgets of guardrails. */
  budgets: readonly Budget[]
}

/** Every limit on a key's requests, in the order they are checked. */
export function listLimits(
  key: ApiKey,
  { grantedCredits, workspace, member, budgets }: LimitSources,
): Limit[] {
  const credits: Limit = {
    kind: 'credits',
    subject: meterSubjects.organization(key.organization_id),
    window: 'total',
    includeByok: false,
    amount: grantedCredits,
  }
  return [
    credits,
    ...listKeyLimits(key),
    ...listMemberLimits(member),
    ...listWorkspaceLimits(key, workspace),
    ...listGuardrailLimits(key, budgets),
  ]
}

function listKeyLimits(key: ApiKey): Limit[] {
  if (key.limit_nanos === null) return []
  return [
    {
      kind: 'key',
      subject: meterSubjects.key(key.id),
      window: windowByReset[key.limit_reset ?? 'lifetime'],
      includeByok: key.include_byok_in_limit === 1,
      amount: key.limit_nanos,
    },
  ]
}

function listMemberLimits(member: MemberLimit | null): Limit[] {
  if (member === null) return []
  return [
    {
      kind: 'member',
      subject: meterSubjects.memberTotal(member.user_id),
      window: windowByReset[member.limit_reset ?? 'lifetime'],
      includeByok: false,
      amount: member.limit_nanos,
    },
  ]
}

/** Broadest first, because the first exceeded limit is reported to the client. */
const intervalsBroadestFirst: BudgetInterval[] = ['lifetime', 'monthly', 'weekly', 'daily']

function listWorkspaceLimits(key: ApiKey, { includeByok, limits }: WorkspaceBudgets): Limit[] {
  return intervalsBroadestFirst.flatMap((interval) => {
    const amount = limits.get(interval)
    if (amount === undefined) return []
    const subject = meterSubjects.workspace(key.workspace_id)
    return [{ kind: 'workspace' as const, subject, window: windowByReset[interval], includeByok, amount }]
  })
}

function listGuardrailLimits(key: ApiKey, budgets: readonly Budget[]): Limit[] {
  return budgets.flatMap(({ scope, limit_nanos, reset_interval, include_byok_in_budgets }) => {
    const subject = scope === 'key' ? meterSubjects.key(key.id) : memberScopeOf(key)
    if (subject === null) return []
    return [
      {
        kind: 'guardrail' as const,
        subject,
        window: windowByReset[reset_interval ?? 'lifetime'],
        includeByok: include_byok_in_budgets,
        amount: limit_nanos,
      },
    ]
  })
}

function memberScopeOf(key: ApiKey): string | null {
  return key.creator_user_id === null ? null : meterSubjects.member(key.workspace_id, key.creator_user_id)
}

/** The meters that count a key's spending. */
export function listMeterScopes(key: ApiKey, limit: MemberLimit | null): string[] {
  const member = memberScopeOf(key)
  return [
    meterSubjects.organization(key.organization_id),
    meterSubjects.workspace(key.workspace_id),
    meterSubjects.key(key.id),
    ...(member === null ? [] : [member]),
    ...(limit === null ? [] : [meterSubjects.memberTotal(limit.user_id)]),
  ]
}
