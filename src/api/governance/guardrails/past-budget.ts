import type { GenerationRow } from '../../../analytics/request-log/walk.ts'
import type { Guardrail } from '../../../governance/policy/guardrail.ts'
import type { CountedRequest } from './requests-totals.ts'

type Budget = Pick<Guardrail, 'limit_nanos' | 'reset_interval' | 'include_byok_in_budgets'>

/** What a budget needs of a past request. */
export interface SpendingRequest extends CountedRequest {
  day: string
  cost: bigint
  hold: bigint
}

export function toSpendingRequest(row: GenerationRow, { include_byok_in_budgets }: Budget): SpendingRequest {
  const { id, key_id, user_id, workspace_id, created_at, cost_nanos, upstream_cost_nanos, hold_nanos } = row
  const byok = row.is_byok === 1 && include_byok_in_budgets ? upstream_cost_nanos : 0n
  return {
    ...{ id, key_id, user_id, workspace_id },
    day: created_at.slice(0, 10),
    cost: cost_nanos + byok,
    hold: hold_nanos > cost_nanos ? hold_nanos + byok : cost_nanos + byok,
  }
}

/** Spends a budget as past requests did, oldest first: what does not fit is not spent. */
export class PastBudget {
  readonly #limit: bigint
  readonly #interval: Budget['reset_interval']
  readonly #spent = new Map<string, bigint>()

  constructor(limit: bigint, interval: Budget['reset_interval']) {
    this.#limit = limit
    this.#interval = interval
  }

  /** Whether the request fits into the budget of every subject, such as its key. */
  spend({ day, cost, hold }: SpendingRequest, subjects: readonly string[]): boolean {
    const windows = subjects.map((subject) => `${subject} ${this.#startOf(day)}`)
    if (windows.some((window) => (this.#spent.get(window) ?? 0n) + hold > this.#limit)) return false
    for (const window of windows) this.#spent.set(window, (this.#spent.get(window) ?? 0n) + cost)
    return true
  }

  #startOf(day: string): string {
    if (this.#interval === 'monthly') return day.slice(0, 7)
    if (this.#interval === 'weekly') return mondayOf(day)
    return this.#interval === 'daily' ? day : ''
  }
}

function mondayOf(day: string): string {
  const date = new Date(`${day}T00:00:00Z`)
  date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7))
  return date.toISOString().slice(0, 10)
}
