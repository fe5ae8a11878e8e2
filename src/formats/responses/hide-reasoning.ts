import type { SseFrame } from '../../platform/http/sse.ts'
import { asObject, type JsonObject } from '../../platform/json/json-values.ts'
import { parseFrame } from './frame.ts'

/** Removes the text of a reasoning item. The encrypted content stays, because the next turn needs it. */
export function hideReasoning(item: JsonObject): JsonObject {
  if (item.type !== 'reasoning') return item
  const { content, ...rest } = item
  return { ...rest, summary: [] }
}

/** The frame without reasoning text; null if nothing else is in it. */
export function hideReasoningInFrame(frame: SseFrame, type: string): SseFrame | null {
  if (type.startsWith('response.reasoning')) return null
  if (type.startsWith('response.content_part.')) return frame.data.includes('"reasoning_text"') ? null : frame
  if (!type.startsWith('response.output_item.') || !frame.data.includes('"reasoning"')) return frame
  const event = parseFrame(frame)?.event
  const item = asObject(event?.item)
  if (item?.type !== 'reasoning') return frame
  return { ...frame, data: JSON.stringify({ ...event, item: hideReasoning(item) }) }
}
