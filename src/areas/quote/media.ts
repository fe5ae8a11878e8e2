import type { z } from 'zod'
import type { Gateway } from '../../app/gateway.ts'
import { chat } from '../../dialects/chat/chat.ts'
import { decodeEmbeddings } from '../../dialects/embeddings/decode.ts'
import { embeddingsRequest } from '../../dialects/embeddings/schema.ts'
import { decodeImageBody } from '../../dialects/images/decode.ts'
import { imageRequest } from '../../dialects/images/schema.ts'
import type { MediaDialect } from '../../dialects/media.ts'
import { decodeRerank } from '../../dialects/rerank/decode.ts'
import { rerankRequest } from '../../dialects/rerank/schema.ts'
import { decodeSpeechRequest } from '../../dialects/speech/decode.ts'
import { speechRequest } from '../../dialects/speech/schema.ts'
import { transcriptionRequest } from '../../dialects/transcriptions/schema.ts'
import type { JsonObject } from '../../lib/json-values.ts'
import { validateInput } from '../../lib/validate-input.ts'
import { inspectMedia } from '../../pipeline/guard/inspect.ts'
import { embeddingsTask } from '../../pipeline/media/embeddings.ts'
import { excludeUnfit } from '../../pipeline/media/fit.ts'
import { imageSupport } from '../../pipeline/media/image-support.ts'
import { parseMediaRequest } from '../../pipeline/media/parse.ts'
import { rerankTask } from '../../pipeline/media/rerank.ts'
import { speechTask } from '../../pipeline/media/speech.ts'
import type { MediaBody, MediaSupport } from '../../pipeline/media/task.ts'
import { openTranscription, transcriptionSupport } from '../../pipeline/media/transcription-support.ts'
import { translateMedia } from '../../pipeline/media/translate.ts'
import type { IncomingRequest } from '../../pipeline/request/inference-request.ts'
import type { QuotedRequest } from './quote.ts'

type QuoteFn = (gateway: Gateway, input: Omit<IncomingRequest, 'format'>) => Promise<QuotedRequest>

/** The bodies of tasks other than text, by the name of their format. */
export const mediaFormats = {
  embeddings: defineMedia(embeddingsRequest, decodeWith(decodeEmbeddings), embeddingsTask),
  rerank: defineMedia(rerankRequest, decodeWith(decodeRerank), rerankTask),
  images: defineMedia(imageRequest, decodeWith(decodeImageBody), imageSupport),
  speech: defineMedia(speechRequest, decodeWith(decodeSpeechRequest), speechTask),
  transcriptions: defineMedia(
    transcriptionRequest,
    (fields) => openTranscription('transcribe', fields),
    transcriptionSupport,
  ),
} satisfies Record<string, QuoteFn>

function decodeWith<Call>(decode: MediaBody<Call>['decode']) {
  return (body: JsonObject): MediaBody<Call> => ({ body, decode })
}

function defineMedia<Body extends JsonObject, Call, D extends MediaDialect<Call>>(
  schema: z.ZodType<Body>,
  open: (body: Body) => MediaBody<Call> | Promise<MediaBody<Call>>,
  task: MediaSupport<Call, D>,
): QuoteFn {
  return async (gateway, { caller, region, httpRequest, body }) => {
    const validated = validateInput(schema, body, 'body')
    const incoming = { caller, region, httpRequest, ...(await open(validated)) }
    const request = await inspectMedia(gateway, await parseMediaRequest(gateway, incoming, task))
    return {
      request,
      excludeUnfit: (plan) => excludeUnfit(plan, request.media, task),
      translate: (candidate) => translateMedia(gateway, request, candidate, task),
      encodeError: chat.client.encodeError,
    }
  }
}
