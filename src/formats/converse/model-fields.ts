import type { JsonObject } from '../../platform/json/json-values.ts'
import type { ModelCall } from '../call/call.ts'
import { findNearestEffort, isReasoningRequested, resolveEffort } from '../call/reasoning.ts'
import type { Losses } from '../fields.ts'
import { encodeReasoning } from '../messages/reasoning-encode.ts'
import { defaultMaxTokens } from '../messages/request-fields.ts'
import type { Target } from '../wire-format.ts'

/** How the models of an author take what the format has no field for. */
interface ModelFamily {
  pattern: RegExp
  encodeTopK?(topK: number): JsonObject
  encodeReasoning?(call: ModelCall, target: Target): FamilyReasoning
}

interface FamilyReasoning {
  fields: JsonObject
  isThinking: boolean
  isLost: boolean
}

const topK = (value: number) => ({ top_k: value })

const families: readonly ModelFamily[] = [
  { pattern: /(?:^|[./])anthropic\./, encodeTopK: topK, encodeReasoning: encodeThinking },
  {
    pattern: /(?:^|[./])amazon\.nova/,
    encodeTopK: (value) => ({ inferenceConfig: { topK: value } }),
    encodeReasoning: (call, target) =>
      encodeEffort(call, target, ['high', 'medium', 'low'], (effort) => ({
        reasoningConfig: effort ? { type: 'enabled', maxReasoningEffort: effort } : { type: 'disabled' },
      })),
  },
  {
    pattern: /(?:^|[./])openai\./,
    encodeReasoning: (call, target) =>
      encodeEffort(
        call,
        target,
        ['high', 'medium', 'low'],
        (effort): JsonObject => (effort ? { reasoning_effort: effort } : {}),
      ),
  },
  { pattern: /(?:^|[./])mistral\./, encodeTopK: topK },
  { pattern: /(?:^|[./])cohere\./, encodeTopK: (value) => ({ k: value }) },
]

/** `additionalModelRequestFields`: parameters of one model family. */
export function encodeModelFields(
  call: ModelCall,
  target: Target,
  losses: Losses,
): { fields: JsonObject | undefined; isThinking: boolean } {
  const family = families.find(({ pattern }) => pattern.test(target.model))
  const reasoning = encodeReasoningOf(family, call, target)
  if (reasoning.isLost) losses.add('reasoning')
  const fields = { ...reasoning.fields }
  if (call.topK !== undefined) {
    if (family?.encodeTopK && !reasoning.isThinking) Object.assign(fields, family.encodeTopK(call.topK))
    else losses.add('top_k')
  }
  return { fields: Object.keys(fields).length > 0 ? fields : undefined, isThinking: reasoning.isThinking }
}

function encodeReasoningOf(
  family: ModelFamily | undefined,
  call: ModelCall,
  target: Target,
): FamilyReasoning {
  if (family?.encodeReasoning) return family.encodeReasoning(call, target)
  return { fields: {}, isThinking: false, isLost: isReasoningRequested(call.reasoning) === true }
}

/** The fields of the Messages format. */
function encodeThinking(call: ModelCall, target: Target): FamilyReasoning {
  const maxTokens = call.maxTokens ?? target.maxOutputTokens ?? defaultMaxTokens
  const { thinking, effort, isEnabled, isLost } = encodeReasoning(call, target, maxTokens)
  return {
    fields: { ...(thinking && { thinking }), ...(effort !== undefined && { output_config: { effort } }) },
    isThinking: isEnabled,
    isLost,
  }
}

function encodeEffort(
  { reasoning, maxTokens }: ModelCall,
  target: Target,
  supported: readonly ('high' | 'medium' | 'low')[],
  encode: (effort: string | null) => JsonObject,
): FamilyReasoning {
  const isRequested = isReasoningRequested(reasoning)
  if (!reasoning || isRequested === undefined) return { fields: {}, isThinking: false, isLost: false }
  if (!isRequested) return { fields: target.reasoning ? encode(null) : {}, isThinking: false, isLost: false }
  const effort = resolveEffort(reasoning, maxTokens ?? target.maxOutputTokens ?? defaultMaxTokens) ?? 'medium'
  return { fields: encode(findNearestEffort(effort, supported)), isThinking: false, isLost: false }
}
