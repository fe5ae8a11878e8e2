import { type GatewayError, toServiceMetadata } from '../../platform/errors/gateway-error.ts'
import { asObject, type JsonObject } from '../../platform/json/json-values.ts'
import type { ReplyContext } from '../wire-format.ts'
import { encodeStreamError } from './error.ts'

export const doneEvent = 'data: [DONE]\n\n'
export const heartbeat = ': HEADGATE PROCESSING\n\n'

/** The fields common to every chunk of a reply. */
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
 * The chunks that end a reply. `finalFields` get a chunk without choices if the client requested usage. Other
 * clients may index `choices[0]` of every chunk, so they are merged into the last chunk with a choice.
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
  const formatted = chunks.map((chunk, at) =>
    formatChunk(isMerged && at === last ? { ...finalFields, ...chunk } : chunk),
  )
  return `${formatted.join('')}${isMerged ? '' : formatChunk({ ...finalFields, choices: [] })}${doneEvent}`
}

/** The last chunk of a reply that was cut off. Nothing follows it: `[DONE]` would mean success. */
export function formatErrorChunk(head: JsonObject, error: GatewayError): string {
  const choice = { index: 0, delta: { content: '' }, finish_reason: 'error', native_finish_reason: null }
  return formatChunk({
    ...head,
    choices: [choice],
    error: encodeStreamError(error),
    ...toServiceMetadata(error),
  })
}
