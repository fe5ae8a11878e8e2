import { z } from 'zod'
import type { RoutingRule } from '../../../governance/routing-rules/rule.ts'

const maxSample = 10
const maxListed = 100

const changedModels = z
  .strictObject({
    before: z.string().describe('The model that was requested.'),
    after: z.array(z.string()).describe('The models of the rule.'),
    requests: z.int(),
  })
  .meta({ id: 'RoutingRuleModels' })

export const ruleTotals = z
  .strictObject({
    id: z.uuid().nullable().describe('null: the rule of the request.'),
    name: z.string(),
    matched: z.int(),
    rejected: z.int().describe('The matched requests, if the rule rejects them.'),
    undecided: z.int().describe('Requests whose record does not have what the condition reads.'),
    failed: z.int().describe('Requests for which the condition cannot be evaluated, and so does not hold.'),
    sample: z.array(z.string()).describe(`The ids of the newest matched generations, at most ${maxSample}.`),
  })
  .meta({ id: 'RoutingRuleTotals' })

export const dryRunTotals = z
  .strictObject({
    from: z.string().describe('Requests that arrived at this time or later.'),
    examined: z.int(),
    is_complete: z.boolean().describe('Whether all requests of the period were examined.'),
    matched: z.int(),
    rejected: z.int(),
    undecided: z.int(),
    not_recorded: z
      .array(z.strictObject({ variable: z.string(), requests: z.int() }))
      .describe('The variables because of which requests are undecided.'),
    rules: z.array(ruleTotals).describe('In the order they are tried.'),
    models: z.array(changedModels).describe(`The most frequent ones, at most ${maxListed}.`),
    tags: z.array(z.strictObject({ tag: z.string(), requests: z.int() })),
  })
  .meta({ id: 'RoutingRuleDryRun' })

export type DryRunTotals = z.input<typeof dryRunTotals>

/** What one request would have met. */
export type Outcome = (
  | { kind: 'matched'; rule: RoutingRule }
  | { kind: 'undecided'; rule: RoutingRule; variable: string }
  | { kind: 'none' }
) & {
  /** The rules whose condition could not be evaluated. */
  failed: readonly RoutingRule[]
}

interface RuleCounts {
  matched: number
  undecided: number
  failed: number
  sample: string[]
}

/** Adds up the outcomes of past requests. */
export class TotalsBuilder {
  examined = 0
  #matched = 0
  #rejected = 0
  #undecided = 0
  readonly #variables = new Map<string, number>()
  readonly #rules = new Map<string, RuleCounts>()
  readonly #models = new Map<string, { before: string; after: string[]; requests: number }>()
  readonly #tags = new Map<string, number>()

  add(id: string, requestedModel: string, outcome: Outcome): void {
    this.examined++
    for (const { id: ruleId } of outcome.failed) this.#countsOf(ruleId).failed++
    if (outcome.kind === 'matched') this.#addMatch(id, requestedModel, outcome.rule)
    if (outcome.kind !== 'undecided') return
    this.#undecided++
    this.#countsOf(outcome.rule.id).undecided++
    increase(this.#variables, outcome.variable)
  }

  #addMatch(id: string, before: string, { id: ruleId, action }: RoutingRule): void {
    const counts = this.#countsOf(ruleId)
    this.#matched++
    counts.matched++
    if (counts.sample.length < maxSample) counts.sample.push(id)
    if (action.reject) this.#rejected++
    if (action.models) this.#addModels(before, action.models)
    for (const [name, value] of Object.entries(action.tags ?? {})) increase(this.#tags, `${name}=${value}`)
  }

  #addModels(before: string, after: string[]): void {
    const key = JSON.stringify([before, after])
    const known = this.#models.get(key) ?? { before, after, requests: 0 }
    known.requests++
    this.#models.set(key, known)
  }

  #countsOf(id: string): RuleCounts {
    const known = this.#rules.get(id) ?? { matched: 0, undecided: 0, failed: 0, sample: [] }
    this.#rules.set(id, known)
    return known
  }

  toRecord(rules: readonly RoutingRule[], draftId: string): Omit<DryRunTotals, 'from' | 'is_complete'> {
    return {
      examined: this.examined,
      matched: this.#matched,
      rejected: this.#rejected,
      undecided: this.#undecided,
      not_recorded: [...this.#variables].map(([variable, requests]) => ({ variable, requests })),
      rules: rules.map(({ id, name, action }) => {
        const counts = this.#countsOf(id)
        const rejected = action.reject ? counts.matched : 0
        return { id: id === draftId ? null : id, name, rejected, ...counts }
      }),
      models: [...this.#models.values()].toSorted((a, b) => b.requests - a.requests).slice(0, maxListed),
      tags: [...this.#tags].map(([tag, requests]) => ({ tag, requests })),
    }
  }
}

function increase(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}
