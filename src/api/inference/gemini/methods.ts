import { z } from 'zod'
import { authorize } from '../../../access/authorize.ts'
import { findModel } from '../../../catalog/lookup.ts'
import { hasOutput } from '../../../catalog/model.ts'
import type { EmbeddingsReply } from '../../../formats/call/embeddings.ts'
import type { TranslatedBody } from '../../../formats/client-body.ts'
import { decodeEmbeddings } from '../../../formats/embeddings/decode.ts'
import {
  batchEmbedContentsBody,
  embedContentBody,
  encodeBatchEmbed,
  encodeEmbedContent,
  encodePredictEmbeddings,
  predictEmbeddingsBody,
  translateBatchEmbed,
  translateEmbedContent,
  translatePredictEmbeddings,
} from '../../../formats/gemini/embed.ts'
import {
  encodePredictImages,
  predictImageFields,
  predictImagesBody,
  translatePredictImages,
} from '../../../formats/gemini/images.ts'
import { geminiBody } from '../../../formats/gemini/schema.ts'
import {
  createEventWriter,
  createWholeWriter,
  requestsAudio,
  translateSpeech,
} from '../../../formats/gemini/speech.ts'
import {
  fetchOperationBody,
  predictLongRunningBody,
  readOperationId,
  translateVideo,
} from '../../../formats/gemini/video.ts'
import { decodeImageBody } from '../../../formats/images/decode.ts'
import { imageRequest } from '../../../formats/images/schema.ts'
import type { MediaReplyContext } from '../../../formats/media.ts'
import { decodeSpeechRequest } from '../../../formats/speech/decode.ts'
import { speechRequest } from '../../../formats/speech/schema.ts'
import { videoRequest } from '../../../formats/video/schema.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { countTokens } from '../../../inference/count-tokens.ts'
import { batchesUnsupported } from '../../../inference/declarations.ts'
import { embeddingsTask } from '../../../inference/media/embeddings.ts'
import { withFieldNames } from '../../../inference/media/fit.ts'
import { imagesTask } from '../../../inference/media/images.ts'
import { streamMedia } from '../../../inference/media/reply-streamed.ts'
import { type EncodedReply, replyWithMedia } from '../../../inference/media/reply-whole.ts'
import { defineSpeechTask } from '../../../inference/media/speech.ts'
import type { IncomingRequest } from '../../../inference/request/inference-request.ts'
import { handleInference } from '../../../inference/serve.ts'
import { handleCacheable } from '../../../inference/serve-cacheable.ts'
import { handleMedia } from '../../../inference/serve-media.ts'
import { createVideoJob } from '../../../inference/video/create.ts'
import { requireJob } from '../../../inference/video/find-job.ts'
import {
  respondWithCloudOperation,
  toCloudOperation,
  toVideoOperation,
} from '../../../inference/video/operation.ts'
import { type GatewayError, gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { parseRequestUrl } from '../../../platform/http/request-url.ts'
import { asString, type JsonObject } from '../../../platform/json/json-values.ts'
import { validateInput } from '../../../platform/validation/validate-input.ts'

/** The method after the colon of a path. The body of a request has its model. */
interface GeminiMethod {
  body: z.ZodType
  handle(gateway: Gateway, request: IncomingRequest): Promise<Response>
}

/** The model decides what else it has: see `predict` and `draw`. */
const predictBody = z.looseObject({ instances: z.array(z.looseObject({})).min(1) })

const methods: Readonly<Record<string, GeminiMethod>> = {
  generateContent: {
    body: geminiBody,
    handle: (gateway, request) =>
      isSpeech(gateway, request)
        ? speak(gateway, request, wholeSpeech)
        : handleInference(gateway, setStream(request, false)),
  },
  streamGenerateContent: {
    body: geminiBody,
    handle: async (gateway, request) => {
      if (parseRequestUrl(request.httpRequest).searchParams.get('alt') !== 'sse')
        throw invalidFieldError('alt', 'must be sse for a stream')
      return isSpeech(gateway, request)
        ? speak(gateway, request, streamedSpeech)
        : handleInference(gateway, setStream(request, true))
    },
  },
  countTokens: {
    body: geminiBody,
    handle: async (gateway, request) =>
      Response.json({ totalTokens: await countTokens(gateway, setStream(request, false)) }),
  },
  embedContent: {
    body: embedContentBody,
    handle: (gateway, request) => embed(gateway, request, translateEmbedContent, encodeEmbedContent),
  },
  batchEmbedContents: {
    body: batchEmbedContentsBody,
    handle: (gateway, request) => embed(gateway, request, translateBatchEmbed, encodeBatchEmbed),
  },
  predict: {
    body: predictBody,
    handle: (gateway, request) =>
      isImage(gateway, request) ? draw(gateway, request) : predict(gateway, request),
  },
  predictLongRunning: {
    body: predictLongRunningBody,
    handle: (gateway, { caller, region, httpRequest, body }) => {
      const video = validateInput(videoRequest, translateVideo(body), 'instances')
      const incoming = { caller, region, httpRequest, body: video }
      const modelPath = findCloudModel(httpRequest)
      return createVideoJob(gateway, incoming, (job) =>
        modelPath === undefined
          ? toVideoOperation(gateway, job, httpRequest)
          : toCloudOperation(gateway, job, modelPath, httpRequest),
      )
    },
  },
  fetchPredictOperation: {
    body: fetchOperationBody,
    handle: async (gateway, { caller, httpRequest, body }) => {
      const scope = await authorize(gateway, caller, 'videos:read')
      const params = { jobId: readOperationId(body) }
      const job = await requireJob({ gateway, caller, httpRequest, scope, params })
      const modelPath = findCloudModel(httpRequest) ?? `models/${job.model}`
      return respondWithCloudOperation(gateway, job, modelPath, httpRequest)
    },
  },
}

/** The model in a path of the vendor's cloud, with its project and publisher; undefined in other paths. */
function findCloudModel(request: Request): string | undefined {
  const { pathname } = parseRequestUrl(request)
  return /\/((?:projects\/[^/]+\/locations\/[^/]+\/)?publishers\/.+):\w+$/.exec(pathname)?.[1]
}

/** The body of any method, for openapi.json. */
export const methodBody = z.union([
  geminiBody,
  embedContentBody,
  batchEmbedContentsBody,
  predictEmbeddingsBody,
  predictImagesBody,
  predictLongRunningBody,
  fetchOperationBody,
])

const batchMethods: ReadonlySet<string> = new Set(['batchGenerateContent', 'asyncBatchEmbedContent'])

/** The schema of the body of a request to `model:method`. */
export function selectMethodBody(name: string): z.ZodType {
  return findMethod(name).body
}

/** A name may have any number of colons: the last one precedes the method. */
export async function handleMethod(
  gateway: Gateway,
  name: string,
  incoming: IncomingRequest,
): Promise<Response> {
  const { caller, region, httpRequest, source, format } = incoming
  const model = name.slice(0, name.lastIndexOf(':'))
  const body = { ...incoming.body, model }
  return findMethod(name).handle(gateway, { caller, region, httpRequest, source, format, body })
}

function findMethod(name: string): GeminiMethod {
  const colon = name.lastIndexOf(':')
  const method = colon < 0 ? '' : name.slice(colon + 1)
  if (Object.hasOwn(methods, method)) return methods[method] as GeminiMethod
  throw batchMethods.has(method)
    ? gatewayError('not_offered', batchesUnsupported)
    : unknownMethodError(method)
}

function unknownMethodError(method: string): GatewayError {
  const offered = `Offered are ${Object.keys(methods).join(', ')}.`
  return gatewayError(
    'not_offered',
    method === ''
      ? `The path must end in a colon and a method. ${offered}`
      : `The method ${method.slice(0, 100)} of a model is not offered. ${offered}`,
  )
}

function setStream(request: IncomingRequest, stream: boolean): IncomingRequest {
  return { ...request, body: { ...request.body, stream } }
}

const speechFields = { voice: 'generationConfig.speechConfig', input: 'contents' }
const wholeSpeech = withFieldNames(
  defineSpeechTask((_, sampleRate) => createWholeWriter(sampleRate)),
  speechFields,
)
const streamedSpeech = withFieldNames(
  defineSpeechTask((_, sampleRate) => createEventWriter(sampleRate)),
  speechFields,
)

/** Whether a request is for a model that speaks texts; one that replies with audio is requested as any other. */
function isSpeech({ catalog }: Gateway, { body }: IncomingRequest): boolean {
  if (!requestsAudio(body)) return false
  const match = findModel(catalog, asString(body.model) ?? '')
  return match !== undefined && hasOutput(match.model, 'speech')
}

async function speak(
  gateway: Gateway,
  { caller, region, httpRequest, body }: IncomingRequest,
  task: typeof wholeSpeech,
): Promise<Response> {
  const translated = translateSpeech(body)
  const incoming = {
    ...{ caller, region, httpRequest, unknown: translated.unknown, decode: decodeSpeechRequest },
    body: validateInput(speechRequest, translated.body, 'contents'),
  }
  return handleMedia(gateway, incoming, task, (...admitted) => streamMedia(...admitted, task))
}

function isImage({ catalog }: Gateway, { body }: IncomingRequest): boolean {
  const match = findModel(catalog, asString(body.model) ?? '')
  return match !== undefined && hasOutput(match.model, 'image')
}

const drawTask = withFieldNames(imagesTask, predictImageFields)

async function draw(
  gateway: Gateway,
  { caller, region, httpRequest, body }: IncomingRequest,
): Promise<Response> {
  const { unknown, body: translated } = translatePredictImages(validateInput(predictImagesBody, body, 'body'))
  const incoming = {
    ...{ caller, region, httpRequest, unknown, decode: decodeImageBody },
    body: validateInput(imageRequest, translated, 'instances'),
  }
  return handleMedia(gateway, incoming, drawTask, (_, request) =>
    replyWithMedia(gateway, request, drawTask, encodePredictImages),
  )
}

async function predict(gateway: Gateway, request: IncomingRequest): Promise<Response> {
  const body: JsonObject = validateInput(predictEmbeddingsBody, request.body, 'body')
  return embed(gateway, { ...request, body }, translatePredictEmbeddings, encodePredictEmbeddings)
}

const embedTask = withFieldNames(embeddingsTask, { input: 'content' })

function embed(
  gateway: Gateway,
  { caller, region, httpRequest, body }: IncomingRequest,
  translate: (body: JsonObject) => TranslatedBody,
  encode: (reply: EmbeddingsReply, context: MediaReplyContext) => EncodedReply,
): Promise<Response> {
  const incoming = { caller, region, httpRequest, ...translate(body), decode: decodeEmbeddings }
  return handleCacheable(gateway, incoming, embedTask, encode)
}
