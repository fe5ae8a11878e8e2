import type { GenerationRow } from '../../../analytics/request-log/walk.ts'
import type { Catalog } from '../../../catalog/catalog.ts'
import type { EffectiveRules } from '../../../governance/policy/effective.ts'
import type { Guardrail } from '../../../governance/policy/guardrail.ts'
import { TimeSlicer } from '../../../platform/time/time-slicer.ts'
import { PastBudget, type SpendingRequest, toSpendingRequest } from './past-budget.ts'
import { findPastOutcome } from './past-outcome.ts'
import { type PastOutcome, RequestTotals } from './requests-totals.ts'
import type { Assignees } from './store.ts'

interface Examination {
  draft: Guardrail
  /** The rules of the draft. */
  rules: EffectiveRules
  /** Those that the guardrail is assigned to; null: everyone. */
  assignees: Assignees | null
}

interface Examined {
  request: SpendingRequest
  outcome: PastOutcome
}

/** Evaluates a draft over the records of past requests, newest first, without holding the event loop. */
export class PastExaminer {
  readonly totals = new RequestTotals()
  readonly #catalog: Catalog
  readonly #options: Examination
  readonly #slicer = new TimeSlicer()
  /** Requests that reached the same endpoint from the same region have the same outcome. */
  readonly #outcomes = new Map<string, PastOutcome>()
  readonly #examined: Examined[] = []

  constructor(catalog: Catalog, options: Examination) {
    this.#catalog = catalog
    this.#options = options
  }

  async add(rows: readonly GenerationRow[]): Promise<void> {
    for await (const row of this.#slicer.iterate(rows.values())) {
      if (this.#applies(row))
        this.#examined.push({
          request: toSpendingRequest(row, this.#options.draft),
          outcome: this.#findOutcome(row),
        })
    }
  }

  /** Spends the budget, oldest first, and adds up. */
  async finish(): Promise<void> {
    const { limit_nanos, reset_interval } = this.#options.draft
    if (limit_nanos !== null) {
      const budget = new PastBudget(limit_nanos, reset_interval)
      for await (const entry of this.#slicer.iterate(this.#examined.toReversed().values()))
        this.#spend(budget, entry)
    }
    for await (const { request, outcome } of this.#slicer.iterate(this.#examined.values()))
      this.totals.add(request, outcome)
  }

  #applies({ key_id, user_id }: Pick<GenerationRow, 'key_id' | 'user_id'>): boolean {
    const { assignees } = this.#options
    if (!assignees || assignees.keyIds.has(key_id)) return true
    return user_id !== null && assignees.userIds.has(user_id)
  }

  #findOutcome(row: GenerationRow): PastOutcome {
    const place = JSON.stringify([row.model, row.endpoint, row.region, row.is_byok])
    const known = this.#outcomes.get(place) ?? findPastOutcome(this.#catalog, this.#options.rules, row)
    this.#outcomes.set(place, known)
    return known
  }

  #spend(budget: PastBudget, entry: Examined): void {
    const { request, outcome } = entry
    if (outcome.kind === 'rejected') return
    if (!budget.spend(request, this.#listSubjects(request)))
      entry.outcome = { kind: 'rejected', field: 'limit_usd' }
  }

  /** A budget counts for each key, and for each member that the guardrail is assigned to. */
  #listSubjects({ key_id, user_id }: SpendingRequest): string[] {
    const { assignees } = this.#options
    const isMember = user_id !== null && assignees?.userIds.has(user_id) === true
    return [
      ...(!assignees || assignees.keyIds.has(key_id) ? [`key ${key_id}`] : []),
      ...(isMember ? [`member ${user_id}`] : []),
    ]
  }
}
