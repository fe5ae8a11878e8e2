import type { FinishReason } from '../call/event.ts'

/** Finish reasons of vendors with this format, in lower case. Any other reason is `stop`. */
const finishReasons = new Map<string, FinishReason>([
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['max_output_tokens', 'length'],
  ['model_length', 'length'],
  ['max_length', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['context_length', 'length'],
  ['tool_calls', 'tool_calls'],
  ['tool_call', 'tool_calls'],
  ['tool_use', 'tool_calls'],
  ['function_call', 'tool_calls'],
  ['content_filter', 'content_filter'],
  ['content_filtered', 'content_filter'],
  ['content-filter', 'content_filter'],
  ['safety', 'content_filter'],
  ['sensitive', 'content_filter'],
  ['recitation', 'content_filter'],
  ['blocklist', 'content_filter'],
  ['prohibited_content', 'content_filter'],
  ['refusal', 'content_filter'],
  ['guardrail_intervened', 'content_filter'],
  ['error', 'error'],
  ['insufficient_system_resource', 'error'],
  ['network_error', 'error'],
  ['abort', 'error'],
])

/** Some vendors finish a reply with tool calls as `stop`: it becomes `tool_calls`. */
export function decodeFinishReason(native: string | null, hasToolCalls: boolean): FinishReason {
  const reason = (native === null ? undefined : finishReasons.get(native.toLowerCase())) ?? 'stop'
  return reason === 'stop' && hasToolCalls ? 'tool_calls' : reason
}
