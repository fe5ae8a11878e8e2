import { z } from 'zod'
import type { Gateway } from '../../app/gateway.ts'
import { gemini } from '../../dialects/gemini/gemini.ts'
import { buildApiPaths, buildCloudPaths } from '../../dialects/gemini/paths.ts'
import { geminiBody } from '../../dialects/gemini/schema.ts'
import { gatewayError, invalidFieldError } from '../../errors/gateway-error.ts'
import { defineOperation } from '../../http/operation.ts'
import type { JsonObject } from '../../lib/json-values.ts'
import { parseRequestUrl } from '../../lib/request-url.ts'
import {
  batchesUnsupported,
  inferenceErrors,
  inferenceHeaders,
  streamTypes,
} from '../../pipeline/declarations.ts'
import { formats } from '../../pipeline/formats.ts'
import { handleInference } from '../../pipeline/inference.ts'
import type { IncomingRequest } from '../../pipeline/request/inference-request.ts'
import { countTokens } from '../../pipeline/upstream/count-tokens.ts'

const format = formats.gemini

const common = {
  method: 'POST',
  tag: 'Gemini',
  summary: 'Generates content in the Gemini generateContent format.',
  permission: 'inference:write',
  // A batch has requests instead of contents: it passes validation to get the error for batches.
  inference: { ...gemini.client, alternateFormat: { field: 'batch', body: z.looseObject({}) } },
  root: true,
  body: geminiBody,
  headers: inferenceHeaders,
  errors: inferenceErrors,
  otherContentTypes: streamTypes,
  response: z.looseObject({}).meta({ id: 'GeminiReply' }),
} as const

const methodsNote =
  'The path ends in the model, a colon and a method: `generateContent`, `streamGenerateContent` (with `?alt=sse`) or `countTokens`.'

const pathSegment = z.string().min(1).max(256)
const modelMethodSegment = pathSegment.describe('model:method')

const generateContent = defineOperation({
  ...common,
  ...buildApiPaths('/models/{model}'),
  id: 'generateContent',
  description: methodsNote,
  params: z.object({ model: modelMethodSegment }),
  handle: ({ gateway, params, body, ...context }) =>
    handleMethod(gateway, params.model, { ...context, body: body as JsonObject, format }),
})

const generateAuthorContent = defineOperation({
  ...common,
  ...buildApiPaths('/models/{author}/{slug}'),
  id: 'generateContentOfAuthor',
  description: methodsNote,
  params: z.object({ author: pathSegment, slug: modelMethodSegment }),
  handle: ({ gateway, params, body, ...context }) =>
    handleMethod(gateway, `${params.author}/${params.slug}`, {
      ...context,
      body: body as JsonObject,
      format,
    }),
})

const batchMethods: ReadonlySet<string> = new Set(['batchGenerateContent', 'asyncBatchEmbedContent'])

const cloudNote = `${methodsNote} Project and location are ignored.`

const generatePublisherContent = defineOperation({
  ...common,
  ...buildCloudPaths('/{model}'),
  id: 'generateContentOfPublisher',
  description: `${cloudNote} The publisher is the author of the model.`,
  params: z.object({ publisher: pathSegment, model: modelMethodSegment }),
  handle: ({ gateway, params, body, ...context }) =>
    handleMethod(gateway, resolvePublisherModel(params), { ...context, body: body as JsonObject, format }),
})

const generatePublisherAuthorContent = defineOperation({
  ...common,
  ...buildCloudPaths('/{author}/{slug}'),
  id: 'generateContentOfPublisherAndAuthor',
  description: `${cloudNote} For clients that prefix every name with the vendor's own publisher.`,
  params: z.object({ publisher: pathSegment, author: pathSegment, slug: modelMethodSegment }),
  handle: ({ gateway, params, body, ...context }) =>
    handleMethod(gateway, `${params.author}/${params.slug}`, {
      ...context,
      body: body as JsonObject,
      format,
    }),
})

export const geminiOperations = [
  generateContent,
  generateAuthorContent,
  generatePublisherContent,
  generatePublisherAuthorContent,
]

/** A name with a slash already contains its author, whatever the publisher is. */
function resolvePublisherModel({ publisher, model }: { publisher: string; model: string }): string {
  return model.includes('/') ? model : `${publisher}/${model}`
}

async function handleMethod(gateway: Gateway, name: string, incoming: IncomingRequest): Promise<Response> {
  const { caller, region, httpRequest, source } = incoming
  const colon = name.lastIndexOf(':')
  const [model, method] = [name.slice(0, Math.max(0, colon)), name.slice(colon + 1)]
  const buildRequest = (stream: boolean) => ({
    ...{ caller, region, httpRequest, source, format },
    body: { ...incoming.body, model, stream },
  })
  if (method === 'generateContent') return handleInference(gateway, buildRequest(false))
  if (method === 'countTokens') {
    return Response.json({ totalTokens: await countTokens(gateway, buildRequest(false)) })
  }
  if (batchMethods.has(method)) throw gatewayError('not_offered', batchesUnsupported)
  if (method !== 'streamGenerateContent') throw gatewayError('route_unknown')
  if (parseRequestUrl(httpRequest).searchParams.get('alt') !== 'sse')
    throw invalidFieldError('alt', 'must be sse for a stream')
  return handleInference(gateway, buildRequest(true))
}
