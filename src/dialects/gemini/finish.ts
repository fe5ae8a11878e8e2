import type { ChoiceEnd, FinishReason } from '../../call/event.ts'

const filtered = [
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

const failed = ['LANGUAGE', 'OTHER', 'IMAGE_OTHER', 'NO_IMAGE']

/** Something about a call was wrong: what was said until then is an answer all the same. */
const calledWrongly = [
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MISSING_THOUGHT_SIGNATURE',
  'MALFORMED_RESPONSE',
]

const reasons = new Map<string, FinishReason>([
  ['STOP', 'stop'],
  ['FINISH_REASON_UNSPECIFIED', 'stop'],
  ['MAX_TOKENS', 'length'],
  ...filtered.map((word): [string, FinishReason] => [word, 'content_filter']),
  ...[...failed, ...calledWrongly].map((word): [string, FinishReason] => [word, 'error']),
])

/** The vendor says plain STOP after calls too. Words it adds later have always been failures. */
export function finishOf(word: string, { called, said }: { called: boolean; said: boolean }): FinishReason {
  const reason = said && calledWrongly.includes(word) ? 'stop' : (reasons.get(word) ?? 'error')
  return reason === 'stop' && called ? 'tool_calls' : reason
}

const words: Record<FinishReason, string> = {
  stop: 'STOP',
  tool_calls: 'STOP',
  length: 'MAX_TOKENS',
  content_filter: 'SAFETY',
  error: 'OTHER',
}

/** A refusal is text here; SAFETY is how a client can tell it from an answer. */
export function finishWord({ reason, native }: ChoiceEnd, refused: boolean): string {
  const plain = reason === 'stop' || reason === 'tool_calls'
  if (native !== null && plain && calledWrongly.includes(native)) return native
  if (native !== null && reasons.get(native) === (plain ? 'stop' : reason)) return native
  return refused && reason === 'stop' ? 'SAFETY' : words[reason]
}
