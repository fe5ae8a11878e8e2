import type { Schemas } from '../../api/client.ts'
import type { Window } from '../../components/limit-window.ts'
import { windowTexts } from '../../components/limit-window.ts'
import { type Measure, measureNames } from '../../format/measure.ts'

type Limit = Schemas['Limit']

/** A declared limit of a key, as the form has it. */
export interface RateDraft {
  /** That of a stored limit; null for a new one. */
  id: string | null
  /** Tells rows apart in the form. */
  row: string
  measure: Measure
  window: Window
  amount: number | null
}

/** Whether the limit counts all requests of one key, and nothing else decides what it counts. */
export function isOwnLimit({ source, match, per, enabled }: Limit): boolean {
  const { workspace_id, user_id, tier, guardrail_id, end_user, tags, models, providers } = match
  const others = [user_id, tier, guardrail_id, end_user].every((value) => value === null)
  const lists = [tags, models, providers, per].every((values) => values.length === 0)
  return source === 'limit' && enabled && others && lists && workspace_id === null
}

export function toRateDraft({ id, measure, window, amount }: Limit): RateDraft {
  return { id, row: id, measure, window: window ?? 'minute', amount }
}

/** The body of a new limit for a key. */
export function toLimitBody({ measure, window, amount }: RateDraft, key: { hash: string; name: string }) {
  const isConcurrent = measure === 'concurrent_requests'
  const what = `${measureNames[measure].toLowerCase()}${isConcurrent ? '' : ` ${windowTexts[window].each}`}`
  return {
    name: `${key.name.slice(0, 60)}: ${what}`,
    measure,
    window: isConcurrent ? null : window,
    amount: amount ?? 0,
    match: { key_hash: key.hash },
  }
}

/** What to do for the limits to be those of the form. A limit that counts something else is another one. */
export function diffRates(before: readonly RateDraft[], after: readonly RateDraft[]) {
  const isSame = (a: RateDraft, b: RateDraft) =>
    a.id === b.id && a.measure === b.measure && (a.window === b.window || a.measure === 'concurrent_requests')
  const complete = after.filter(({ amount }) => amount !== null)
  return {
    removed: before.filter((old) => !complete.some((rate) => isSame(old, rate))),
    added: complete.filter((rate) => !before.some((old) => isSame(old, rate))),
    changed: complete.filter((rate) => before.some((old) => isSame(old, rate) && old.amount !== rate.amount)),
  }
}
