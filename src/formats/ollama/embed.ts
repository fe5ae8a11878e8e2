import { z } from 'zod'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { EmbeddingsReply } from '../call/embeddings.ts'
import { countPromptTokens } from '../call/usage.ts'
import { encodeUsage } from '../chat/usage.ts'
import { type TranslatedBody, translateBody } from '../client-body.ts'
import { maxInputs } from '../embeddings/schema.ts'
import { maxDimensions } from '../embeddings/vector.ts'
import type { MediaReplyContext } from '../media.ts'
import { providerPreferences } from '../schema/preferences.ts'

const sharedFields = {
  model: z.string().min(1),
  options: z.looseObject({}).nullish().describe('Ignored: the gateway runs no models'),
  keep_alive: z.union([z.string(), z.number()]).nullish().describe('Ignored: the gateway loads no models'),
  provider: providerPreferences.nullish(),
}

/** Ollama's `/api/embed`. */
export const ollamaEmbedRequest = z
  .looseObject({
    ...sharedFields,
    input: z
      .union(
        [z.string(), z.array(z.string().min(1)).max(maxInputs)],
        `must be a text or a list of at most ${maxInputs} texts, none of them empty`,
      )
      .nullish(),
    dimensions: z.int().min(1).max(maxDimensions).nullish(),
    truncate: z
      .boolean()
      .nullish()
      .describe('A text that is too long is truncated only if the provider does'),
  })
  .meta({ id: 'OllamaEmbedRequest' })

/** Ollama's older `/api/embeddings`, with one text. */
export const ollamaEmbeddingsRequest = z
  .looseObject({ ...sharedFields, prompt: z.string().nullish() })
  .meta({ id: 'OllamaEmbeddingsRequest' })

/** Translates into a body of `POST /embeddings`. */
export function translateEmbed(body: JsonObject): TranslatedBody {
  // Not to truncate is what happens anyway.
  const { truncate, ...rest } = body
  const { input, dimensions } = rest
  const translated = translateBody(rest, ollamaEmbedRequest.shape, { input, dimensions })
  return truncate === true ? { ...translated, unknown: [...translated.unknown, 'truncate'] } : translated
}

export function translateEmbeddings(body: JsonObject): TranslatedBody {
  return translateBody(body, ollamaEmbeddingsRequest.shape, { input: body.prompt })
}

const contentType = 'application/json;charset=utf-8'

/** Encodes the reply as pieces of JSON text: the vectors are not parsed. */
export function encodeEmbed(
  { vectors }: EmbeddingsReply,
  { model, provider, usage, cost, metadata }: MediaReplyContext,
  elapsedMs: number,
): { contentType: string; text: string[] } {
  const rest = {
    total_duration: Math.round(elapsedMs * 1e6),
    load_duration: 0,
    prompt_eval_count: countPromptTokens(usage),
    usage: encodeUsage(usage, cost),
    ...(metadata && { service_metadata: metadata }),
  }
  const head = JSON.stringify({ model, provider }).slice(0, -1)
  const items = vectors.flatMap((vector, index) => (index === 0 ? [vector] : [',', vector]))
  return { contentType, text: [`${head},"embeddings":[`, ...items, `],${JSON.stringify(rest).slice(1)}`] }
}

export function encodeEmbeddings({ vectors }: EmbeddingsReply): { contentType: string; text: string[] } {
  return { contentType, text: ['{"embedding":', vectors[0] ?? '[]', '}'] }
}
