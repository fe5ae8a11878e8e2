import type { JsonObject } from '../../platform/json/json-values.ts'
import type { EmbeddingsReply } from '../call/embeddings.ts'
import { countPromptTokens, type Usage } from '../call/usage.ts'
import { encodeCost } from '../chat/usage.ts'
import type { MediaReplyContext } from '../media.ts'

/** The reply in the client's format, as pieces of JSON text: the vectors are not parsed. */
export function encodeEmbeddings(
  { vectors }: EmbeddingsReply,
  context: MediaReplyContext,
): { contentType: string; text: string[] } {
  const { model, id, usage, cost, metadata } = context
  const rest = {
    model,
    id,
    usage: { ...encodeUsage(usage), ...encodeCost(cost) },
    ...(metadata && { service_metadata: metadata }),
  }
  const items = vectors.flatMap((vector, index) => [
    `${index === 0 ? '' : ','}{"object":"embedding","index":${index},"embedding":`,
    vector,
    '}',
  ])
  const text = ['{"object":"list","data":[', ...items, `],${JSON.stringify(rest).slice(1)}`]
  return { contentType: 'application/json;charset=utf-8', text }
}

function encodeUsage(usage: Usage): JsonObject {
  const tokens = countPromptTokens(usage)
  const details = {
    text_tokens: usage.input,
    image_tokens: usage.inputImage,
    audio_tokens: usage.inputAudio,
    video_tokens: usage.inputVideo,
  }
  const isMixed = Object.values(details).filter((count) => count > 0).length > 1
  return {
    prompt_tokens: tokens,
    total_tokens: tokens,
    ...(isMixed && { prompt_tokens_details: details }),
  }
}
