import type { Call } from '../../call/call.ts'
import {
  budgetOf,
  effortOf,
  efforts,
  leastBudget,
  nearestEffort,
  wantsReasoning,
} from '../../call/reasoning.ts'
import type { JsonObject } from '../../lib/loose.ts'
import type { ReasoningAbility, Target } from '../dialect.ts'

/** The strengths of `output_config.effort`. */
const ownEfforts = efforts.filter((effort) => effort !== 'none' && effort !== 'minimal')

/** The most of `max_tokens` that thinking may take, so that something is left for the answer. */
const mostShare = 0.95

export interface Thinking {
  thinking?: JsonObject
  effort?: string
  on: boolean
  /** What was asked for and cannot be said. */
  lost: boolean
}

/** `max_tokens` is never raised for thinking: it is what the client is ready to pay for. */
export function encodeWish(call: Call, target: Target, maxTokens: number): Thinking {
  const wish = call.reasoning
  const wanted = wantsReasoning(wish)
  if (!wish || wanted === undefined) return { on: false, lost: false }
  if (!wanted) {
    return { ...(target.reasoning && { thinking: { type: 'disabled' } }), on: false, lost: false }
  }
  if (target.reasoning && !target.reasoning.budget) return adaptive(call, target.reasoning, maxTokens)
  const budget = budgetOf(wish, maxTokens) ?? budgetOf({ ...wish, enabled: true }, maxTokens) ?? leastBudget
  const most = Math.min(maxTokens - 1, Math.max(Math.floor(maxTokens * mostShare), leastBudget))
  if (most < leastBudget) return { on: false, lost: true }
  const thinking = { type: 'enabled', budget_tokens: Math.min(budget, most) }
  return { thinking, on: true, lost: false }
}

/** Newer models decide themselves, and show nothing unless asked to. */
function adaptive(call: Call, ability: ReasoningAbility, maxTokens: number): Thinking {
  const wish = call.reasoning ?? {}
  const thinking = { type: 'adaptive', display: wish.exclude ? 'omitted' : 'summarized' }
  const known = ownEfforts.filter((effort) => ability.efforts?.includes(effort) ?? true)
  const asked = effortOf(wish, maxTokens)
  if (asked === undefined || asked === 'none' || known.length === 0)
    return { thinking, on: true, lost: false }
  return { thinking, effort: nearestEffort(asked, known), on: true, lost: false }
}
