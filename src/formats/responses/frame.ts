import type { SseFrame } from '../../platform/http/sse.ts'
import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { type ListPaths, limitEventLists } from '../reply-lists.ts'

const itemLists = [['content'], ['content', 'annotations'], ['summary']]
const responseLists = [['output'], ...itemLists.map((path) => ['output', ...path])]

export const replyLists: ListPaths = [...responseLists, ...responseLists.map((path) => ['response', ...path])]

const eventLists: ListPaths = [
  ...responseLists.map((path) => ['response', ...path]),
  ...itemLists.map((path) => ['item', ...path]),
  ['part', 'annotations'],
]

/** Parses the event of a frame; null if it is not a JSON object. */
export function parseFrame(frame: SseFrame): { type: string; event: JsonObject } | null {
  const event = asObject(
    tryParseJson(frame.data) ?? (frame.truncated ? undefined : tryParseJson(repairFrameText(frame.data))),
  )
  limitEventLists(frame.data, event, eventLists)
  return event ? { type: asString(event.type) ?? frame.event, event } : null
}

function tryParseJson(text: string): unknown {
  try {
    // Not parseJson, which rejects a lone surrogate: the other half may be in the next delta.
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** One vendor omits the last brace of frames with a whole response. */
function repairFrameText(text: string): string {
  return text.startsWith('{"type":"response.') && text.endsWith('}') ? `${text}}` : ''
}

const typePrefix = '{"type":"'

/** The type of a frame, without parsing if it is the first key or in the event line. */
export function frameTypeOf(frame: SseFrame): string | null {
  if (frame.event.startsWith('response.') || frame.event === 'error') return frame.event
  if (!frame.data.startsWith(typePrefix)) return parseFrame(frame)?.type ?? null
  const end = frame.data.indexOf('"', typePrefix.length)
  return end < 0 ? null : frame.data.slice(typePrefix.length, end)
}
