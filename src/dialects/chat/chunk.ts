import { type GatewayError, toServiceMetadata } from '../../errors/gateway-error.ts'
import { asObject, type JsonObject } from '../../lib/json-values.ts'
import type { ReplyContext } from '../dialect.ts'
import { encodeStreamError } from './error.ts'

export const doneEvent = 'data: [DONE]\n\n'
export const heartbeat = ': HEADGATE PROCESSING\n\n'

/** What every chunk of a reply says about it. */
export function buildChunkHead(context: ReplyContext, object = 'chat.completion.chunk'): JsonObject {
  return {
    id: context.id,
    object,
    created: context.created,
    model: context.model,
    provider: context.provider,
  }
}

export function formatChunk(chunk: JsonObject): string {
  return `data: ${JSON.stringify(chunk)}\n\n`
}

/**
 * The chunks that end a reply. What is said once about the whole is a chunk without choices for a client that
 * asked for the usage; others may index `choices[0]` of every chunk, so it rides on the last one that has a choice.
 */
export function formatLastChunks(
  chunks: JsonObject[],
  finalFields: JsonObject,
  { body }: ReplyContext,
): string {
  const isUsageRequested =
    asObject(body.stream_options)?.include_usage === true || asObject(body.usage)?.include === true
  const last = chunks.findLastIndex(({ choices }) => Array.isArray(choices) && choices.length > 0)
  const isMerged = !isUsageRequested && last !== -1
  const written = chunks.map((chunk, at) =>
    formatChunk(isMerged && at === last ? { ...finalFields, ...chunk } : chunk),
  )
  return `${written.join('')}${isMerged ? '' : formatChunk({ ...finalFields, choices: [] })}${doneEvent}`
}

/** The last chunk of a reply that broke off. Nothing follows it: the usual last line would mean success. */
export function formatErrorChunk(head: JsonObject, error: GatewayError): string {
  const choice = { index: 0, delta: { content: '' }, finish_reason: 'error', native_finish_reason: null }
  return formatChunk({
    ...head,
    choices: [choice],
    error: encodeStreamError(error),
    ...toServiceMetadata(error),
  })
}
