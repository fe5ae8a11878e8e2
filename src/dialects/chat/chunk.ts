import { explainedError, type GatewayError } from '../../errors.ts'
import { type JsonObject, objectOf } from '../../lib/loose.ts'
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

/**
 * The chunks that end a reply. What is said once about the whole is a chunk without choices for a client that
 * asked for the usage; others may index `choices[0]` of every chunk, so it rides on the last one that has a choice.
 */
export function lastChunks(chunks: JsonObject[], whole: JsonObject, { body }: ReplyFacts): string {
  const isAsked =
    objectOf(body.stream_options)?.include_usage === true || objectOf(body.usage)?.include === true
  const last = chunks.findLastIndex(({ choices }) => Array.isArray(choices) && choices.length > 0)
  const rides = !isAsked && last !== -1
  const written = chunks.map((chunk, at) => event(rides && at === last ? { ...whole, ...chunk } : chunk))
  return `${written.join('')}${rides ? '' : event({ ...whole, choices: [] })}${done}`
}

/** The last chunk of a reply that broke off. Nothing follows it: the usual last line would mean success. */
export function failedChunk(head: JsonObject, error: GatewayError): string {
  const choice = { index: 0, delta: { content: '' }, finish_reason: 'error', native_finish_reason: null }
  return event({ ...head, choices: [choice], error: errorObject(error), ...explainedError(error) })
}
