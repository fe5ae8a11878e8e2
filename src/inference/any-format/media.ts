import type { z } from 'zod'
import { chat } from '../../formats/chat/chat.ts'
import { decodeEmbeddings } from '../../formats/embeddings/decode.ts'
import { embeddingsRequest } from '../../formats/embeddings/schema.ts'
import { decodeImageBody } from '../../formats/images/decode.ts'
import { imageRequest } from '../../formats/images/schema.ts'
import type { MediaWireFormat } from '../../formats/media.ts'
import { decodeRerank } from '../../formats/rerank/decode.ts'
import { rerankRequest } from '../../formats/rerank/schema.ts'
import { decodeSpeechRequest } from '../../formats/speech/decode.ts'
import { speechRequest } from '../../formats/speech/schema.ts'
import { transcriptionRequest } from '../../formats/transcriptions/schema.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { validateInput } from '../../platform/validation/validate-input.ts'
import { embeddingsTask } from '../media/embeddings.ts'
import { excludeUnfit } from '../media/fit.ts'
import { imageSupport } from '../media/image-support.ts'
import { parseMediaRequest } from '../media/parse.ts'
import { rerankTask } from '../media/rerank.ts'
import { speechTask } from '../media/speech.ts'
import type { MediaBody, MediaSupport } from '../media/task.ts'
import { openTranscription, transcriptionSupport } from '../media/transcription-support.ts'
import { translateMedia } from '../media/translate.ts'
import { inspectMedia } from '../stages/inspect-media.ts'
import type { AnyRequest, ResolvedRequest } from './resolved-request.ts'

type ResolveFn = (gateway: Gateway, input: AnyRequest) => Promise<ResolvedRequest>

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
} satisfies Record<string, ResolveFn>

function decodeWith<Call>(decode: MediaBody<Call>['decode']) {
  return (body: JsonObject): MediaBody<Call> => ({ body, decode })
}

function defineMedia<Body extends JsonObject, Call, D extends MediaWireFormat<Call>>(
  schema: z.ZodType<Body>,
  open: (body: Body) => MediaBody<Call> | Promise<MediaBody<Call>>,
  task: MediaSupport<Call, D>,
): ResolveFn {
  return async (gateway, { caller, region, httpRequest, body, keyContext }) => {
    const validated = validateInput(schema, body, 'body')
    const incoming = { caller, region, httpRequest, ...(await open(validated)) }
    const parsed = await parseMediaRequest(gateway, incoming, task)
    const original = parsed.content.call
    if (keyContext) parsed.keyContext = keyContext
    const request = await inspectMedia(gateway, parsed)
    return {
      request,
      original,
      excludeUnfit: (plan) => excludeUnfit(plan, request.media, task),
      translate: (candidate) => translateMedia(gateway, request, candidate, task),
      encodeError: chat.client.encodeError,
    }
  }
}
