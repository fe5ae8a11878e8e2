import type { CacheMark } from '../../call/part.ts'
import { type JsonObject, objectsOf } from '../../lib/loose.ts'
import type { Losses } from '../fields.ts'

/** The vendor refuses a request with more. */
const mostMarks = 4

export function cacheControl(mark: CacheMark): JsonObject {
  return { cache_control: { type: 'ephemeral', ...(mark.ttl && { ttl: mark.ttl }) } }
}

/** Takes the earliest marks away until no more are left than the vendor takes: later ones cover more. */
export function limitMarks(body: JsonObject, losses: Losses): void {
  const marked = [...objectsOf(body.tools), ...objectsOf(body.system)].filter(isMarked)
  for (const message of objectsOf(body.messages)) {
    for (const block of objectsOf(message.content)) {
      if (block.type === 'tool_result') marked.push(...objectsOf(block.content).filter(isMarked))
      if (isMarked(block)) marked.push(block)
    }
  }
  const room = body.cache_control ? mostMarks - 1 : mostMarks
  for (const block of marked.slice(0, Math.max(0, marked.length - room))) {
    delete block.cache_control
    losses.add('cache_control')
  }
}

function isMarked(block: JsonObject): boolean {
  return block.cache_control !== undefined && block.cache_control !== null
}
