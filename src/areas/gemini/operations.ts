import { z } from 'zod'
import { gemini } from '../../dialects/gemini/gemini.ts'
import { geminiBody } from '../../dialects/gemini/schema.ts'
import { badField, fail } from '../../errors.ts'
import type { JsonObject } from '../../lib/loose.ts'
import { requestUrl } from '../../lib/url.ts'
import { operation } from '../../operation.ts'
import { answer } from '../../pipeline/answer.ts'
import type { Question } from '../../pipeline/asked.ts'
import { countTokens } from '../../pipeline/count-tokens.ts'
import { formats } from '../../pipeline/formats.ts'
import { inferenceErrors, inferenceHeaders, noBatches } from '../../pipeline/operations.ts'

const format = formats.gemini

const common = {
  method: 'POST',
  tag: 'Gemini',
  summary: 'Ask a model, in the Gemini generateContent format',
  description:
    'The path ends in the model, a colon and a method: `generateContent`, `streamGenerateContent` (with `?alt=sse`) or `countTokens`.',
  access: 'inference',
  // A batch has requests in the place of contents: it gets as far as being refused for what it is.
  inference: { ...gemini.client, also: { field: 'batch', body: z.looseObject({}) } },
  root: true,
  body: geminiBody,
  headers: inferenceHeaders,
  errors: inferenceErrors,
  response: z.looseObject({}).meta({ id: 'GeminiReply' }),
} as const

const segment = z.string().min(1).max(256)

const generateContent = operation({
  ...common,
  id: 'generateContent',
  path: '/v1beta/models/{model}',
  params: z.strictObject({ model: segment.describe('model:method') }),
  handle: ({ gateway, params, body, ...ask }) =>
    answerMethod(gateway, params.model, { ...ask, body: body as JsonObject, format }),
})

const generateAuthorContent = operation({
  ...common,
  id: 'generateContentOfAuthor',
  path: '/v1beta/models/{author}/{model}',
  params: z.strictObject({ author: segment, model: segment.describe('model:method') }),
  handle: ({ gateway, params, body, ...ask }) =>
    answerMethod(gateway, `${params.author}/${params.model}`, { ...ask, body: body as JsonObject, format }),
})

const batchMethods: ReadonlySet<string> = new Set(['batchGenerateContent', 'asyncBatchEmbedContent'])

export const geminiOperations = [generateContent, generateAuthorContent]

async function answerMethod(
  gateway: Parameters<typeof answer>[0],
  name: string,
  { caller, region, request, body, source }: Question,
): Promise<Response> {
  const colon = name.lastIndexOf(':')
  const [model, method] = [name.slice(0, Math.max(0, colon)), name.slice(colon + 1)]
  const ask = (stream: boolean) => ({
    caller,
    region,
    request,
    source,
    format,
    body: { ...body, model, stream },
  })
  if (method === 'generateContent') return answer(gateway, ask(false))
  if (method === 'countTokens') {
    return Response.json({ totalTokens: await countTokens(gateway, ask(false)) })
  }
  if (batchMethods.has(method)) throw fail('not_offered', noBatches)
  if (method !== 'streamGenerateContent') throw fail('route_unknown')
  if (requestUrl(request).searchParams.get('alt') !== 'sse') throw badField('alt', 'must be sse for a stream')
  return answer(gateway, ask(true))
}
