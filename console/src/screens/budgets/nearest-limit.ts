import type { BudgetLimit, BudgetNode } from '../../components/budget-intervals.ts'

/**
 * The limit that would refuse a request first: the one with the least left on the path from the organization.
 * Of a key the server knows it, with the guardrails that apply to it. Null if nothing limits the node.
 */
export function findNearestLimit(path: readonly BudgetNode[]): BudgetLimit | null {
  const last = path.at(-1)
  if (last?.kind === 'key') return last.blocks_first
  return path
    .flatMap(({ limits }) => limits)
    .reduce<BudgetLimit | null>(
      (nearest, limit) => (nearest && nearest.remaining <= limit.remaining ? nearest : limit),
      null,
    )
}

/** Names the owner of a limit, from the point of view of the last node of the path. */
export function nameLimit({ kind, node_id }: BudgetLimit, path: readonly BudgetNode[]): string {
  if (kind === 'credits') return 'Credits'
  const node = path.find(({ id }) => id === node_id)
  const what = kind === 'guardrail' ? 'Guardrail budget' : 'Budget'
  if (node === undefined) return what
  if (node === path.at(-1)) return kind === 'key' ? 'Its own limit' : `Its own ${what.toLowerCase()}`
  return `${what} of ${node.name ?? 'keys without a creator'}`
}
