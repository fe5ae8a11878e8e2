import type { ReasoningWish } from '../call/call.ts'
import { isEffort, leastBudget, wantsReasoning } from '../call/reasoning.ts'
import type { ReasoningAbility, Target } from './dialect.ts'

/**
 * What a request comes to wish for at this model: thinking, where the variant stands for it and the request
 * says nothing; and as little as possible where it wants none and the model cannot help it.
 */
export function wishAt(
  wish: ReasoningWish | undefined,
  { thinking, reasoning }: Pick<Target, 'thinking' | 'reasoning'>,
): ReasoningWish | undefined {
  const wanted = wantsReasoning(wish)
  if (thinking === 'default' && wanted === undefined) return { ...wish, enabled: true }
  if (thinking !== 'always' || wanted !== false) return wish
  const { effort: _effort, maxTokens: _budget, enabled: _switch, ...rest } = wish ?? {}
  const least = leastOf(reasoning)
  return Object.keys({ ...rest, ...least }).length > 0 ? { ...rest, ...least } : undefined
}

function leastOf(ability: ReasoningAbility | null): ReasoningWish {
  const lowest = ability?.efforts?.findLast((effort) => effort !== 'none')
  if (isEffort(lowest)) return { effort: lowest }
  return ability?.budget ? { maxTokens: leastBudget } : {}
}
