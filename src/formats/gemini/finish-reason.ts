import type { ChoiceEnd, FinishReason } from '../call/event.ts'

const contentFilterReasons = [
  'SAFETY',
  'RECITATION',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'MODEL_ARMOR',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_RECITATION',
]

const errorReasons = ['LANGUAGE', 'OTHER', 'IMAGE_OTHER', 'NO_IMAGE']

/** A tool call was invalid; content that preceded it is still a valid reply. */
const invalidToolCallReasons = [
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MISSING_THOUGHT_SIGNATURE',
  'MALFORMED_RESPONSE',
]

const finishReasons = new Map<string, FinishReason>([
  ['STOP', 'stop'],
  ['FINISH_REASON_UNSPECIFIED', 'stop'],
  ['MAX_TOKENS', 'length'],
  ...contentFilterReasons.map((nativeReason): [string, FinishReason] => [nativeReason, 'content_filter']),
  ...[...errorReasons, ...invalidToolCallReasons].map((nativeReason): [string, FinishReason] => [
    nativeReason,
    'error',
  ]),
])

/** The vendor reports STOP after tool calls too. Unknown reasons count as errors: new ones have always been failures. */
export function decodeFinishReason(
  nativeReason: string,
  { hasToolCalls, hasContent }: { hasToolCalls: boolean; hasContent: boolean },
): FinishReason {
  const reason =
    hasContent && invalidToolCallReasons.includes(nativeReason)
      ? 'stop'
      : (finishReasons.get(nativeReason) ?? 'error')
  return reason === 'stop' && hasToolCalls ? 'tool_calls' : reason
}

const wireReasons: Record<FinishReason, string> = {
  stop: 'STOP',
  tool_calls: 'STOP',
  length: 'MAX_TOKENS',
  content_filter: 'SAFETY',
  error: 'OTHER',
}

/** The format has no refusals: they are sent as text with SAFETY, so that clients can detect them. */
export function encodeFinishReason({ reason, native }: ChoiceEnd, hasRefusal: boolean): string {
  const isPlain = reason === 'stop' || reason === 'tool_calls'
  if (native !== null && isPlain && invalidToolCallReasons.includes(native)) return native
  if (native !== null && finishReasons.get(native) === (isPlain ? 'stop' : reason)) return native
  return hasRefusal && reason === 'stop' ? 'SAFETY' : wireReasons[reason]
}
