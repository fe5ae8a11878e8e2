import { createHash } from 'node:crypto'

/** What requests have in common that reach the same target. */
export const splitUnits = ['session', 'user', 'request'] as const
export type SplitUnit = (typeof splitUnits)[number]

/** Enough for tenths of a thousandth. */
export const maxWeight = 10_000

/** One of the targets that the requests for an alias are divided among. */
export interface SplitTarget {
  model: string
  /** The share of the requests, in relation to the other weights; 0: only as a fallback. */
  weight: number
  /** The tag of its requests, `name=value`. It identifies the target, whose model and weight can change. */
  tag: string
}

export interface Split {
  by: SplitUnit
  /** Whether the other targets are tried when the chosen one fails. */
  fallback: boolean
  targets: readonly SplitTarget[]
}

/** The ids of a request. */
export interface SplitIds {
  session: string | null
  user: string | null
  request: string
}

/** The target that was chosen for a request. */
export interface SplitChoice {
  alias: string
  model: string
  tag: string
  /** The id that decided. */
  split_by: SplitUnit
}

export function encodeSplit(split: Split | null): string | null {
  return split && JSON.stringify(split)
}

export function decodeSplit(stored: string | null): Split | null {
  return stored === null ? null : (JSON.parse(stored) as Split)
}

interface RankedTargets {
  choice: SplitChoice
  /** In the order in which they are tried. */
  models: readonly string[]
}

/**
 * Chooses a target by weighted rendezvous hashing: each target draws a number from its tag and the id, and the smallest
 * comes first. A change of one weight therefore only moves requests to or from that target. The fallbacks follow in
 * the same order, which divides the requests of a failed target among the others by their weights.
 */
export function rankTargets(alias: string, { by, fallback, targets }: Split, ids: SplitIds): RankedTargets {
  const { unit, id } = findUnit(by, ids)
  const ranked = targets
    .map((target) => ({ target, draw: drawNumber(target, `${alias}\0${unit}\0${id}`) }))
    .sort((a, b) => (a.draw === b.draw ? 0 : a.draw - b.draw))
    .map(({ target }) => target)
  const [first] = ranked
  if (!first) throw new Error(`The alias "${alias}" has no targets.`)
  return {
    choice: { alias, model: first.model, tag: first.tag, split_by: unit },
    models: (fallback ? ranked : [first]).map(({ model }) => model),
  }
}

/** The unit, or the next that the request has an id of. */
function findUnit(by: SplitUnit, { session, user, request }: SplitIds): { unit: SplitUnit; id: string } {
  if (by === 'session' && session !== null) return { unit: 'session', id: session }
  if (by !== 'request' && user !== null) return { unit: 'user', id: user }
  return { unit: 'request', id: request }
}

/**
 * Exponentially distributed, with the weight as its rate: the probability that a target draws the smallest number is
 * its share of all weights. Without a weight it is infinite.
 */
function drawNumber({ tag, weight }: SplitTarget, seed: string): number {
  const hash = createHash('sha256').update(`${seed}\0${tag}`).digest().readUIntBE(0, 6)
  return -Math.log((hash + 0.5) / 2 ** 48) / weight
}
