import type { ReasoningOptions } from './call/call.ts'
import { isEffort, isReasoningRequested, minReasoningBudget } from './call/reasoning.ts'
import type { ReasoningCapability, Target } from './wire-format.ts'

/**
 * The reasoning options for this model: enabled by default for a reasoning variant when the request leaves it
 * open, and minimal when the request disables it on a model that always reasons.
 */
export function resolveReasoning(
  options: ReasoningOptions | undefined,
  { reasoningMode, reasoning }: Pick<Target, 'reasoningMode' | 'reasoning'>,
): ReasoningOptions | undefined {
  const isRequested = isReasoningRequested(options)
  if (reasoningMode === 'default' && isRequested === undefined) return { ...options, enabled: true }
  if (reasoningMode !== 'always' || isRequested !== false) return options
  const { effort: _effort, maxTokens: _budget, enabled: _switch, ...rest } = options ?? {}
  const minimal = resolveMinimalReasoning(reasoning)
  return Object.keys({ ...rest, ...minimal }).length > 0 ? { ...rest, ...minimal } : undefined
}

function resolveMinimalReasoning(capability: ReasoningCapability | null): ReasoningOptions {
  const lowest = capability?.efforts?.findLast((effort) => effort !== 'none')
  if (isEffort(lowest)) return { effort: lowest }
  return capability?.budget ? { maxTokens: minReasoningBudget } : {}
}
