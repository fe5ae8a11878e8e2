import type { ApiKey } from '../account/keys.ts'
import type { WorkspaceBudgets } from '../account/workspaces.ts'
import type { BudgetInterval } from '../db/schema.ts'
import type { Limit } from '../ledger/book.ts'
import { subjects } from '../ledger/subjects.ts'
import { windowOf } from '../ledger/usage.ts'
import type { Budget } from './effective.ts'

export interface Means {
  /** Credits ever given to the organization, in nano-dollars. */
  funded: bigint
  workspace: WorkspaceBudgets
  /** Of guardrails. */
  budgets: readonly Budget[]
}

/** Every limit that a key's requests must fit into, in the order they are checked. */
export function limitsOf(key: ApiKey, { funded, workspace, budgets }: Means): Limit[] {
  const credits: Limit = {
    kind: 'credits',
    subject: subjects.organization(key.organization_id),
    window: 'total',
    includeByok: false,
    amount: funded,
  }
  return [credits, ...keyLimits(key), ...workspaceLimits(key, workspace), ...guardrailLimits(key, budgets)]
}

function keyLimits(key: ApiKey): Limit[] {
  if (key.limit_nanos === null) return []
  return [
    {
      kind: 'key',
      subject: subjects.key(key.id),
      window: windowOf[key.limit_reset ?? 'lifetime'],
      includeByok: key.include_byok_in_limit === 1,
      amount: key.limit_nanos,
    },
  ]
}

/** The broadest that is exceeded is the one the client hears of. */
const broadestFirst: BudgetInterval[] = ['lifetime', 'monthly', 'weekly', 'daily']

function workspaceLimits(key: ApiKey, { includeByok, limits }: WorkspaceBudgets): Limit[] {
  return broadestFirst.flatMap((interval) => {
    const amount = limits.get(interval)
    if (amount === undefined) return []
    const subject = subjects.workspace(key.workspace_id)
    return [{ kind: 'workspace' as const, subject, window: windowOf[interval], includeByok, amount }]
  })
}

function guardrailLimits(key: ApiKey, budgets: readonly Budget[]): Limit[] {
  return budgets.flatMap(({ scope, limit_nanos, reset_interval, include_byok_in_budgets }) => {
    const subject = scope === 'key' ? subjects.key(key.id) : memberSubject(key)
    if (subject === null) return []
    return [
      {
        kind: 'guardrail' as const,
        subject,
        window: windowOf[reset_interval ?? 'lifetime'],
        includeByok: include_byok_in_budgets,
        amount: limit_nanos,
      },
    ]
  })
}

function memberSubject(key: ApiKey): string | null {
  return key.creator_user_id === null ? null : subjects.member(key.workspace_id, key.creator_user_id)
}

/** The meters that everything a key spends counts in. */
export function subjectsOf(key: ApiKey): string[] {
  const member = memberSubject(key)
  return [
    subjects.organization(key.organization_id),
    subjects.workspace(key.workspace_id),
    subjects.key(key.id),
    ...(member === null ? [] : [member]),
  ]
}
