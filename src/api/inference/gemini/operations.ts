import { z } from 'zod'
import { gemini } from '../../../formats/gemini/gemini.ts'
import { buildApiPaths, buildCloudPaths } from '../../../formats/gemini/paths.ts'
import { defineOperation } from '../../../http/operation.ts'
import { inferenceErrors, inferenceHeaders, streamTypes } from '../../../inference/declarations.ts'
import { formats } from '../../../inference/request/formats.ts'
import type { JsonObject } from '../../../platform/json/json-values.ts'
import { handleMethod, methodBody, selectMethodBody } from './methods.ts'

const format = formats.gemini

const common = {
  method: 'POST',
  tag: 'Gemini',
  summary: 'Generates content in the Gemini generateContent format.',
  permission: 'inference:write',
  root: true,
  body: methodBody,
  headers: inferenceHeaders,
  errors: inferenceErrors,
  otherContentTypes: streamTypes,
  response: z.looseObject({}).meta({ id: 'GeminiReply' }),
} as const

const methodsNote =
  'The path ends in the model, a colon and a method: `generateContent`, `streamGenerateContent` (with `?alt=sse`), `countTokens`, `embedContent`, `batchEmbedContents`, `predict`, `predictLongRunning` or `fetchPredictOperation`. The method decides which body is expected.'

/** The part of an operation that depends on where its path has the method. */
function selectBy(segment: 'model' | 'slug') {
  const { encodeError } = gemini.client
  return {
    inference: {
      encodeError,
      selectBody: (params: Readonly<Record<string, string>>) => selectMethodBody(params[segment] ?? ''),
    },
  }
}

const pathSegment = z.string().min(1).max(256)
const modelMethodSegment = pathSegment.describe('model:method')

const generateContent = defineOperation({
  ...common,
  ...buildApiPaths('/models/{model}'),
  ...selectBy('model'),
  id: 'generateContent',
  description: methodsNote,
  params: z.object({ model: modelMethodSegment }),
  handle: ({ gateway, params, body, ...context }) =>
    handleMethod(gateway, params.model, { ...context, body: body as JsonObject, format }),
})

const generateAuthorContent = defineOperation({
  ...common,
  ...buildApiPaths('/models/{author}/{slug}'),
  ...selectBy('slug'),
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

const cloudNote = `${methodsNote} Project and location are ignored.`

const generatePublisherContent = defineOperation({
  ...common,
  ...buildCloudPaths('/{model}'),
  ...selectBy('model'),
  id: 'generateContentOfPublisher',
  description: `${cloudNote} The publisher is the author of the model.`,
  params: z.object({ publisher: pathSegment, model: modelMethodSegment }),
  handle: ({ gateway, params, body, ...context }) =>
    handleMethod(gateway, resolvePublisherModel(params), { ...context, body: body as JsonObject, format }),
})

const generatePublisherAuthorContent = defineOperation({
  ...common,
  ...buildCloudPaths('/{author}/{slug}'),
  ...selectBy('slug'),
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
