import { explainedError, type GatewayError } from '../../errors.ts'
import type { JsonObject } from '../../lib/loose.ts'
import type { ReplyFacts } from '../dialect.ts'
import { errorObject } from './error.ts'

export const done = 'data: [DONE]\n\n'
export const heartbeat = ': HEADGATE PROCESSING\n\n'

/** What every chunk of a reply says about it. */
export function chunkHead(about: ReplyFacts, object = 'chat.completion.chunk'): JsonObject {
  return { id: about.id, object, created: about.created, model: about.model, provider: about.provider }
}

export function event(chunk: JsonObject): string {
  return `data: ${JSON.stringify(chunk)}\n\n`
}

/** The last chunk of a reply that broke off. Nothing follows it: the usual last line would mean success. */
export function failedChunk(head: JsonObject, error: GatewayError): string {
  const choice = { index: 0, delta: { content: '' }, finish_reason: 'error', native_finish_reason: null }
  return event({ ...head, choices: [choice], error: errorObject(error), ...explainedError(error) })
}
