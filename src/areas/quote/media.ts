import type { z } from 'zod'
import type { Gateway } from '../../app/gateway.ts'
import { chat } from '../../dialects/chat/chat.ts'
import { decodeEmbeddings } from '../../dialects/embeddings/decode.ts'
import { embeddingsRequest } from '../../dialects/embeddings/schema.ts'
import type { MediaDialect } from '../../dialects/media.ts'
import { decodeRerank } from '../../dialects/rerank/decode.ts'
import { rerankRequest } from '../../dialects/rerank/schema.ts'
import type { JsonObject } from '../../lib/json-values.ts'
import { validateInput } from '../../lib/validate-input.ts'
import { embeddingsTask } from '../../pipeline/media/embeddings.ts'
import { excludeUnfit } from '../../pipeline/media/fit.ts'
import { parseMediaRequest } from '../../pipeline/media/parse.ts'
import { rerankTask } from '../../pipeline/media/rerank.ts'
import type { IncomingMedia, MediaTask } from '../../pipeline/media/task.ts'
import { translateMedia } from '../../pipeline/media/translate.ts'
import type { IncomingRequest } from '../../pipeline/request/inference-request.ts'
import type { QuotedRequest } from './quote.ts'

type QuoteFn = (gateway: Gateway, input: Omit<IncomingRequest, 'format'>) => Promise<QuotedRequest>

/** The bodies of tasks other than text, by the name of their format. */
export const mediaFormats = {
  embeddings: defineMedia(embeddingsRequest, decodeEmbeddings, embeddingsTask),
  rerank: defineMedia(rerankRequest, decodeRerank, rerankTask),
} satisfies Record<string, QuoteFn>

function defineMedia<Call, D extends MediaDialect<Call>, Reply>(
  schema: z.ZodType,
  decode: (body: JsonObject) => Pick<IncomingMedia<Call>, 'body' | 'call' | 'prompt' | 'size'>,
  task: MediaTask<Call, D, Reply>,
): QuoteFn {
  return async (gateway, { caller, region, httpRequest, body }) => {
    const validated = validateInput(schema as z.ZodType<JsonObject>, body, 'body')
    const incoming = { caller, region, httpRequest, ...decode(validated) }
    const request = await parseMediaRequest(gateway, incoming, task.name)
    return {
      request,
      excludeUnfit: (plan) => excludeUnfit(plan, request.media, task),
      translate: (candidate) => translateMedia(gateway, request, candidate, task),
      encodeError: chat.client.encodeError,
    }
  }
}
