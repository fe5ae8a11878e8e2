import { z } from 'zod'
import type { FilterHit } from '../../../governance/filters/filter-set.ts'
import { type FilterAction, filterActions } from '../../../governance/policy/guardrail.ts'
import type { KeyName } from '../../../identity/record-names.ts'
import type { StoredPrompt } from '../../../storage/stored-contents.ts'

const outcomeFields = {
  blocked: z.int(),
  redacted: z.int().describe('Not counting those that would be blocked.'),
  flagged: z.int().describe('Not counting those that would be blocked or redacted.'),
}

export const historyTotals = z
  .strictObject({
    examined: z.int().describe('The number of prompts.'),
    ...outcomeFields,
    rules: z.array(
      z.strictObject({
        rule: z.string(),
        action: z.enum(filterActions),
        requests: z.int(),
        matches: z.int(),
      }),
    ),
    keys: z.array(
      z.strictObject({
        api_key_hash: z.string().nullable().describe('null if the key was deleted.'),
        api_key_name: z.string().nullable(),
        ...outcomeFields,
      }),
    ),
    members: z.array(z.strictObject({ user_id: z.string().nullable(), ...outcomeFields })),
  })
  .meta({ id: 'GuardrailHistory' })

type Outcomes = Record<keyof typeof outcomeFields, number>

const outcomeOf: Record<FilterAction, keyof Outcomes> = {
  block: 'blocked',
  redact: 'redacted',
  flag: 'flagged',
}

interface RuleTotal {
  rule: string
  action: FilterAction
  requests: number
  matches: number
}

/** Outcomes that a draft would have had for the prompts that were examined. */
export class HistoryTotals {
  examined = 0
  newestId: string | null = null
  oldestId: string | null = null
  readonly #all = noOutcomes()
  readonly #rules = new Map<string, RuleTotal>()
  readonly #keys = new Map<number | null, Outcomes>()
  readonly #members = new Map<string | null, Outcomes>()

  add({ keyId, userId, generation_id }: StoredPrompt, hits: readonly FilterHit[]): void {
    this.examined++
    this.newestId ??= generation_id
    this.oldestId = generation_id
    const strictest = filterActions.findLast((action) => hits.some((hit) => hit.action === action))
    if (strictest === undefined) return
    const outcome = outcomeOf[strictest]
    for (const outcomes of [this.#all, entryOf(this.#keys, keyId), entryOf(this.#members, userId)])
      outcomes[outcome]++
    for (const group of Map.groupBy(hits, ({ rule, action }) => JSON.stringify([rule, action])).values())
      this.#addRule(group)
  }

  get keyIds(): number[] {
    return [...this.#keys.keys()].filter((id) => id !== null)
  }

  toRecord(names: ReadonlyMap<number, KeyName>): z.input<typeof historyTotals> {
    return {
      examined: this.examined,
      ...this.#all,
      rules: [...this.#rules.values()].toSorted((a, b) => b.requests - a.requests),
      keys: [...this.#keys].map(([id, outcomes]) => {
        const key = id === null ? undefined : names.get(id)
        return { api_key_hash: key?.hash ?? null, api_key_name: key?.name ?? null, ...outcomes }
      }),
      members: [...this.#members].map(([user_id, outcomes]) => ({ user_id, ...outcomes })),
    }
  }

  #addRule(hits: readonly FilterHit[]): void {
    const [first] = hits
    if (!first) return
    const { rule, action } = first
    const key = JSON.stringify([rule, action])
    const total = this.#rules.get(key) ?? { rule, action, requests: 0, matches: 0 }
    total.requests++
    for (const { count } of hits) total.matches += count
    this.#rules.set(key, total)
  }
}

function noOutcomes(): Outcomes {
  return { blocked: 0, redacted: 0, flagged: 0 }
}

function entryOf<K>(map: Map<K, Outcomes>, key: K): Outcomes {
  const known = map.get(key) ?? noOutcomes()
  map.set(key, known)
  return known
}
