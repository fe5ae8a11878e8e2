import { z } from 'zod'
import { gemini } from '../../dialects/gemini/gemini.ts'
import { apiPaths, cloudPaths } from '../../dialects/gemini/paths.ts'
import { geminiBody } from '../../dialects/gemini/schema.ts'
import { badField, fail } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import type { JsonObject } from '../../lib/loose.ts'
import { requestUrl } from '../../lib/url.ts'
import { operation } from '../../operation.ts'
import { answer } from '../../pipeline/answer.ts'
import type { Question } from '../../pipeline/asked.ts'
import { countTokens } from '../../pipeline/count-tokens.ts'
import { formats } from '../../pipeline/formats.ts'
import { inferenceErrors, inferenceHeaders, noBatches, streamTypes } from '../../pipeline/operations.ts'
import { inlineFiles } from './inline-files.ts'

const format = formats.gemini

const common = {
  method: 'POST',
  tag: 'Gemini',
  summary: 'Ask a model, in the Gemini generateContent format',
  access: 'inference',
  // A batch has requests in the place of contents: it gets as far as being refused for what it is.
  inference: { ...gemini.client, also: { field: 'batch', body: z.looseObject({}) } },
  root: true,
  body: geminiBody,
  headers: inferenceHeaders,
  errors: inferenceErrors,
  otherTypes: streamTypes,
  response: z.looseObject({}).meta({ id: 'GeminiReply' }),
} as const

const methods =
  'The path ends in the model, a colon and a method: `generateContent`, `streamGenerateContent` (with `?alt=sse`) or `countTokens`.'

const segment = z.string().min(1).max(256)
const last = segment.describe('model:method')

const generateContent = operation({
  ...common,
  ...apiPaths('/models/{model}'),
  id: 'generateContent',
  description: `${methods}`,
  params: z.object({ model: last }),
  handle: ({ gateway, params, body, ...ask }) =>
    answerMethod(gateway, params.model, { ...ask, body: body as JsonObject, format }),
})

const generateAuthorContent = operation({
  ...common,
  ...apiPaths('/models/{author}/{slug}'),
  id: 'generateContentOfAuthor',
  description: `${methods}`,
  params: z.object({ author: segment, slug: last }),
  handle: ({ gateway, params, body, ...ask }) =>
    answerMethod(gateway, `${params.author}/${params.slug}`, { ...ask, body: body as JsonObject, format }),
})

const batchMethods: ReadonlySet<string> = new Set(['batchGenerateContent', 'asyncBatchEmbedContent'])

const cloudNote = `${methods} Project and location mean nothing here.`

const generatePublisherContent = operation({
  ...common,
  ...cloudPaths('/{model}'),
  id: 'generateContentOfPublisher',
  description: `${cloudNote} The publisher is the author of the model.`,
  params: z.object({ publisher: segment, model: last }),
  handle: ({ gateway, params, body, ...ask }) =>
    answerMethod(gateway, publishedName(params), { ...ask, body: body as JsonObject, format }),
})

const generatePublisherAuthorContent = operation({
  ...common,
  ...cloudPaths('/{author}/{slug}'),
  id: 'generateContentOfPublisherAndAuthor',
  description: `${cloudNote} For clients that put the vendor's own publisher before every name.`,
  params: z.object({ publisher: segment, author: segment, slug: last }),
  handle: ({ gateway, params, body, ...ask }) =>
    answerMethod(gateway, `${params.author}/${params.slug}`, { ...ask, body: body as JsonObject, format }),
})

export const geminiOperations = [
  generateContent,
  generateAuthorContent,
  generatePublisherContent,
  generatePublisherAuthorContent,
]

/** A name with a slash has its author with it, whoever is said to publish it. */
function publishedName({ publisher, model }: { publisher: string; model: string }): string {
  return model.includes('/') ? model : `${publisher}/${model}`
}

async function answerMethod(gateway: Gateway, name: string, question: Question): Promise<Response> {
  const { caller, region, request, source } = question
  const colon = name.lastIndexOf(':')
  const [model, method] = [name.slice(0, Math.max(0, colon)), name.slice(colon + 1)]
  const ask = async (stream: boolean) => {
    const body = await inlineFiles(gateway, question)
    return { caller, region, request, source, format, body: { ...body, model, stream } }
  }
  if (method === 'generateContent') return answer(gateway, await ask(false))
  if (method === 'countTokens') {
    return Response.json({ totalTokens: await countTokens(gateway, await ask(false)) })
  }
  if (batchMethods.has(method)) throw fail('not_offered', noBatches)
  if (method !== 'streamGenerateContent') throw fail('route_unknown')
  if (requestUrl(request).searchParams.get('alt') !== 'sse') throw badField('alt', 'must be sse for a stream')
  return answer(gateway, await ask(true))
}
