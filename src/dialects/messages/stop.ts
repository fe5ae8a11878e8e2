import type { ChoiceEnd, FinishReason } from '../../call/event.ts'
import { type JsonObject, objectOf, textOf } from '../../lib/loose.ts'

const reasons = new Map<string, FinishReason>([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['pause_turn', 'stop'],
  ['compaction', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'content_filter'],
])

const words: Record<FinishReason, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
  error: 'end_turn',
}

/** From `stop_reason` and its neighbours; a vendor that calls a tool may still say that it simply ended. */
export function readStop(delta: JsonObject, calledTools: boolean): ChoiceEnd {
  const native = textOf(delta.stop_reason) ?? null
  const plain = native === null || native === 'end_turn'
  const reason = plain && calledTools ? 'tool_calls' : (reasons.get(native ?? '') ?? 'stop')
  const end: ChoiceEnd = { type: 'choice-end', choice: 0, reason, native }
  const stopSequence = textOf(delta.stop_sequence)
  if (stopSequence !== undefined) end.stopSequence = stopSequence
  const explanation = textOf(objectOf(delta.stop_details)?.explanation)
  if (explanation !== undefined) end.explanation = explanation
  return end
}

export interface Stop {
  stop_reason: string
  stop_sequence: string | null
  stop_details: JsonObject | null
}

export function writeStop(end: ChoiceEnd | null, seen: { tools: boolean; refused: boolean }): Stop {
  const reason = stopReason(end, seen)
  return {
    stop_reason: reason,
    stop_sequence: end?.stopSequence ?? null,
    stop_details:
      reason === 'refusal'
        ? { type: 'refusal', category: null, explanation: end?.explanation ?? null }
        : null,
  }
}

function stopReason(end: ChoiceEnd | null, seen: { tools: boolean; refused: boolean }): string {
  if (seen.refused && (!end || end.reason === 'stop')) return 'refusal'
  if (!end) return seen.tools ? 'tool_use' : 'end_turn'
  // A finer word of this very format, such as `pause_turn`, is kept.
  if (end.native !== null && reasons.get(end.native) === end.reason) return end.native
  if (end.stopSequence !== undefined && end.reason === 'stop') return 'stop_sequence'
  return words[end.reason]
}
