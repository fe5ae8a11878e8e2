import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { ChoiceEnd, FinishReason } from '../call/event.ts'

const finishReasons = new Map<string, FinishReason>([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['pause_turn', 'stop'],
  ['compaction', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'content_filter'],
])

const stopReasons: Record<FinishReason, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
  error: 'end_turn',
}

/** Decodes `stop_reason` and related fields; some vendors report `end_turn` after tool calls. */
export function decodeChoiceEnd(delta: JsonObject, hasToolCalls: boolean): ChoiceEnd {
  const native = asString(delta.stop_reason) ?? null
  const plain = native === null || native === 'end_turn'
  const reason = plain && hasToolCalls ? 'tool_calls' : (finishReasons.get(native ?? '') ?? 'stop')
  const end: ChoiceEnd = { type: 'choice-end', choice: 0, reason, native }
  const stopSequence = asString(delta.stop_sequence)
  if (stopSequence !== undefined) end.stopSequence = stopSequence
  const explanation = asString(asObject(delta.stop_details)?.explanation)
  if (explanation !== undefined) end.explanation = explanation
  return end
}

export interface StopFields {
  stop_reason: string
  stop_sequence: string | null
  stop_details: JsonObject | null
}

export function encodeStopFields(
  end: ChoiceEnd | null,
  features: { hasToolCalls: boolean; hasRefusal: boolean },
): StopFields {
  const reason = encodeStopReason(end, features)
  return {
    stop_reason: reason,
    stop_sequence: end?.stopSequence ?? null,
    stop_details:
      reason === 'refusal'
        ? { type: 'refusal', category: null, explanation: end?.explanation ?? null }
        : null,
  }
}

function encodeStopReason(
  end: ChoiceEnd | null,
  features: { hasToolCalls: boolean; hasRefusal: boolean },
): string {
  if (features.hasRefusal && (!end || end.reason === 'stop')) return 'refusal'
  if (!end) return features.hasToolCalls ? 'tool_use' : 'end_turn'
  // A more specific stop reason of this format, such as `pause_turn`, is preserved.
  if (end.native !== null && finishReasons.get(end.native) === end.reason) return end.native
  if (end.stopSequence !== undefined && end.reason === 'stop') return 'stop_sequence'
  return stopReasons[end.reason]
}
