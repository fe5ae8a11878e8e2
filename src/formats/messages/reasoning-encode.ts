import type { JsonObject } from '../../platform/json/json-values.ts'
import type { ModelCall } from '../call/call.ts'
import {
  efforts,
  findNearestEffort,
  isReasoningRequested,
  minReasoningBudget,
  resolveBudget,
  resolveEffort,
} from '../call/reasoning.ts'
import type { ReasoningCapability, Target } from '../wire-format.ts'

/** Values of `output_config.effort`. */
const wireEfforts = efforts.filter((effort) => effort !== 'none' && effort !== 'minimal')

/** Share of `max_tokens` that thinking may use, so that tokens are left for the text. */
const maxBudgetShare = 0.95

export interface ThinkingFields {
  thinking?: JsonObject
  effort?: string
  isEnabled: boolean
  /** Reasoning was requested and cannot be enabled. */
  isLost: boolean
}

/** `max_tokens` is never raised for thinking: it limits what the client pays. */
export function encodeReasoning(call: ModelCall, target: Target, maxTokens: number): ThinkingFields {
  const options = call.reasoning
  const isRequested = isReasoningRequested(options)
  if (!options || isRequested === undefined) return { isEnabled: false, isLost: false }
  if (!isRequested) {
    return { ...(target.reasoning && { thinking: { type: 'disabled' } }), isEnabled: false, isLost: false }
  }
  if (target.reasoning && !target.reasoning.budget)
    return encodeAdaptiveReasoning(call, target.reasoning, maxTokens)
  const budget =
    resolveBudget(options, maxTokens) ??
    resolveBudget({ ...options, enabled: true }, maxTokens) ??
    minReasoningBudget
  const maxBudget = Math.min(
    maxTokens - 1,
    Math.max(Math.floor(maxTokens * maxBudgetShare), minReasoningBudget),
  )
  if (maxBudget < minReasoningBudget) return { isEnabled: false, isLost: true }
  const thinking = { type: 'enabled', budget_tokens: Math.min(budget, maxBudget) }
  return { thinking, isEnabled: true, isLost: false }
}

/** Newer models choose their own budget, and show no thinking by default. */
function encodeAdaptiveReasoning(
  call: ModelCall,
  capability: ReasoningCapability,
  maxTokens: number,
): ThinkingFields {
  const options = call.reasoning ?? {}
  const thinking = { type: 'adaptive', display: options.exclude ? 'omitted' : 'summarized' }
  const supportedEfforts = wireEfforts.filter((effort) => capability.efforts?.includes(effort) ?? true)
  const requestedEffort = resolveEffort(options, maxTokens)
  if (requestedEffort === undefined || requestedEffort === 'none' || supportedEfforts.length === 0)
    return { thinking, isEnabled: true, isLost: false }
  return {
    thinking,
    effort: findNearestEffort(requestedEffort, supportedEfforts),
    isEnabled: true,
    isLost: false,
  }
}
