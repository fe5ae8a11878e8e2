import { asObject, asString, type JsonObject } from '../../lib/json-values.ts'
import type { SseFrame } from '../../lib/sse.ts'

/** The object in a frame, with its type; null when it is none. */
export function parseFrame(frame: SseFrame): { type: string; event: JsonObject } | null {
  const event = asObject(
    tryParseJson(frame.data) ?? (frame.truncated ? undefined : tryParseJson(repairFrameText(frame.data))),
  )
  return event ? { type: asString(event.type) ?? frame.event, event } : null
}

function tryParseJson(text: string): unknown {
  try {
    // Not parseJson: half a surrogate pair is lawful here, its other half is in the next delta.
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** One vendor's frames around a whole response lack their last brace. */
function repairFrameText(text: string): string {
  return text.startsWith('{"type":"response.') && text.endsWith('}') ? `${text}}` : ''
}

const typePrefix = '{"type":"'

/** The type of a frame, without reading it where the vendor put it first or in the event line. */
export function frameTypeOf(frame: SseFrame): string | null {
  if (frame.event.startsWith('response.') || frame.event === 'error') return frame.event
  if (!frame.data.startsWith(typePrefix)) return parseFrame(frame)?.type ?? null
  const end = frame.data.indexOf('"', typePrefix.length)
  return end < 0 ? null : frame.data.slice(typePrefix.length, end)
}
