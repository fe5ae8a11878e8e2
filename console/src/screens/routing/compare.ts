import type { Schemas } from '../../api/client.ts'

export type Quote = Schemas['Quote']
type Available = Quote['endpoints']['available'][number]
type Excluded = Quote['endpoints']['excluded'][number]

/** A quote, or why there is none. */
export type Outcome = { quote: Quote; problem: null } | { quote: null; problem: string }

/** The state of an endpoint on one side; null if it is no candidate there. */
type Side = { available: Available; excluded: null } | { available: null; excluded: Excluded } | null

export interface CandidateRow {
  key: string
  model: string
  provider: string
  tag: string
  before: Side
  after: Side
  isDifferent: boolean
}

/** The endpoints of both sides in the order of the new one; those that are not available last. */
export function listCandidates(before: Quote | null, after: Quote | null): CandidateRow[] {
  const old = sidesOf(before)
  const now = sidesOf(after)
  const rows = [...new Set([...now.keys(), ...old.keys()])].flatMap((key) => {
    const sides = { before: old.get(key) ?? null, after: now.get(key) ?? null }
    const shown = sides.after ?? sides.before
    const endpoint = shown?.available ?? shown?.excluded
    if (!endpoint) return []
    const { model, provider, tag } = endpoint
    return [
      { key, model, provider, tag, ...sides, isDifferent: textOf(sides.before) !== textOf(sides.after) },
    ]
  })
  return rows.toSorted((one, other) => positionOf(one) - positionOf(other))
}

/** An endpoint may be there twice: with a BYOK key, and without. */
function sidesOf(quote: Quote | null): Map<string, Side> {
  const sides = new Map<string, Side>()
  for (const excluded of quote?.endpoints.excluded ?? [])
    sides.set(keyOf(excluded), { available: null, excluded })
  for (const available of quote?.endpoints.available ?? [])
    sides.set(keyOf(available), { available, excluded: null })
  return sides
}

function keyOf({ model, tag, own_key = '' }: { model: string; tag: string; own_key?: string }): string {
  return `${model} ${tag} ${own_key}`
}

function textOf(side: Side): string {
  if (side === null) return ''
  return side.available ? `${side.available.rank}` : side.excluded.reason
}

const behindAll = 1_000_000

function positionOf({ before, after }: CandidateRow): number {
  if (after?.available) return after.available.rank
  return behindAll + (before?.available?.rank ?? behindAll)
}

export type Difference = 'same' | 'endpoint' | 'model' | 'price' | 'order' | 'refused' | 'allowed' | 'problem'

export const differenceTexts: Record<Difference, string> = {
  same: 'no change',
  endpoint: 'other endpoint',
  model: 'other model',
  price: 'other price',
  order: 'other order',
  refused: 'would be refused',
  allowed: 'no longer refused',
  problem: 'cannot be compared',
}

/** The most important difference between two quotes of a request. */
export function findDifference(before: Outcome, after: Outcome): Difference {
  if (!before.quote || !after.quote) {
    return before.problem !== null && before.problem === after.problem ? 'same' : 'problem'
  }
  const [old, now] = [before.quote, after.quote]
  if (old.would !== now.would) return now.would === 'be_refused' ? 'refused' : 'allowed'
  const [first] = old.endpoints.available
  const [next] = now.endpoints.available
  if (first?.model !== next?.model) return 'model'
  if (first?.tag !== next?.tag || first?.own_key !== next?.own_key) return 'endpoint'
  if (old.price.expected !== now.price.expected || old.price.worst_case !== now.price.worst_case)
    return 'price'
  return listCandidates(old, now).some(({ isDifferent }) => isDifferent) ? 'order' : 'same'
}

/** Sums the expected cost of the requests; null if a price is not known. */
export function sumExpected(outcomes: Outcome[]): number | null {
  let sum = 0
  for (const { quote } of outcomes) {
    if (!quote || quote.would === 'be_refused') continue
    if (quote.price.expected === null) return null
    sum += quote.price.expected
  }
  return sum
}
