import { z } from 'zod'
import { hasOutput, type Model } from '../../../catalog/model.ts'
import { modelPath, requireModel } from '../../../catalog/model-path.ts'
import { gemini } from '../../../formats/gemini/gemini.ts'
import { buildApiPaths, buildCloudPaths } from '../../../formats/gemini/paths.ts'
import { defineOperation } from '../../../http/operation.ts'
import { listReachableModels, type ModelViewer } from '../../../inference/plan/model-access.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { queryInteger } from '../../../platform/validation/query-params.ts'

/** A model in the Gemini format. Unknown values are absent. */
const geminiModel = z
  .strictObject({
    name: z.string().describe('The resource name, `models/author/slug`.'),
    baseModelId: z.string(),
    displayName: z.string(),
    description: z.string(),
    inputTokenLimit: z.int().optional(),
    outputTokenLimit: z.int().optional(),
    supportedGenerationMethods: z.array(z.string()),
    thinking: z.boolean(),
    temperature: z.number().optional(),
    topP: z.number().optional(),
    topK: z.int().optional(),
  })
  .meta({ id: 'GeminiModel' })

const publisherModel = z
  .strictObject({
    name: z.string().describe('The resource name, `publishers/author/models/slug`.'),
    versionId: z.string(),
    displayName: z.string(),
    description: z.string(),
  })
  .meta({ id: 'PublisherModel' })

export const geminiPageQuery = z.object({
  pageSize: queryInteger({ min: 1, max: 1000, fallback: 50 }),
  pageToken: z.string().max(300).optional().describe('The token from the previous page.'),
})

const common = {
  method: 'GET',
  tag: 'Gemini',
  permission: 'models:read',
  root: true,
  encodeError: gemini.client.encodeError,
} as const

const nextPageToken = z.string().optional().describe('Absent on the last page.')

const listGeminiModels = defineOperation({
  ...common,
  ...buildApiPaths('/models', { except: 'v1' }),
  id: 'listGeminiModels',
  summary: 'Lists the available models in the Gemini format.',
  description:
    'Lists the models that support generateContent. `GET /v1/models` returns the same to clients that send their key as `x-goog-api-key`.',
  query: geminiPageQuery,
  response: z.strictObject({ models: z.array(geminiModel), nextPageToken }).meta({ id: 'GeminiModelList' }),
  handle: (context) => readGeminiModelPage(context, context.query),
})

const getGeminiModel = defineOperation({
  ...common,
  ...buildApiPaths('/models/{model}', { except: 'v1' }),
  id: 'getGeminiModel',
  summary: 'Retrieves a model in the Gemini format.',
  params: z.object({ model: z.string().min(1).describe('The model id, such as sandbox%2Fecho.') }),
  errors: [404],
  response: geminiModel,
  handle: async ({ gateway, params }) =>
    toGeminiModel(requireModel(gateway.catalog, splitModelId(params.model)).model),
})

const getGeminiAuthorModel = defineOperation({
  ...common,
  ...buildApiPaths('/models/{author}/{slug}', { except: 'v1' }),
  id: 'getGeminiModelOfAuthor',
  summary: 'Retrieves a model by its unescaped id in the Gemini format.',
  params: modelPath,
  errors: [404],
  response: geminiModel,
  handle: async ({ gateway, params }) => toGeminiModel(requireModel(gateway.catalog, params).model),
})

const listPublisherModels = defineOperation({
  ...common,
  ...buildCloudPaths(''),
  id: 'listPublisherModels',
  summary: 'Lists the available models as publisher models.',
  description: 'Lists the models of every publisher, whichever publisher the path names.',
  params: z.object({ publisher: z.string().min(1) }),
  query: geminiPageQuery,
  response: z
    .strictObject({ publisherModels: z.array(publisherModel), nextPageToken })
    .meta({ id: 'PublisherModelList' }),
  handle: async (context) => {
    const { models, ...next } = await readModelPage(context, context.query)
    return { publisherModels: models.map(toPublisherModel), ...next }
  },
})

const getPublisherModel = defineOperation({
  ...common,
  ...buildCloudPaths('/{model}'),
  id: 'getPublisherModel',
  summary: 'Retrieves a publisher model.',
  params: z.object({ publisher: z.string().min(1), model: z.string().min(1) }),
  errors: [404],
  response: publisherModel,
  handle: async ({ gateway, params: { publisher, model } }) =>
    toPublisherModel(requireModel(gateway.catalog, { author: publisher, slug: model }).model),
})

export const geminiModelOperations = [
  listGeminiModels,
  getGeminiModel,
  getGeminiAuthorModel,
  listPublisherModels,
  getPublisherModel,
]

type GeminiPage = z.output<typeof geminiPageQuery>

export async function readGeminiModelPage(viewer: ModelViewer, page: GeminiPage) {
  const { models, ...next } = await readModelPage(viewer, page)
  return { models: models.map(toGeminiModel), ...next }
}

async function readModelPage(
  viewer: ModelViewer,
  { pageSize, pageToken }: GeminiPage,
): Promise<{ models: Model[]; nextPageToken?: string }> {
  const models = (await listReachableModels(viewer, {})).filter(canGenerateContent)
  const start = pageToken === undefined ? 0 : findIndexAfter(models, pageToken)
  const shown = models.slice(start, start + pageSize)
  const last = shown.at(-1)
  return { models: shown, ...(last && last !== models.at(-1) && { nextPageToken: last.id }) }
}

function canGenerateContent(model: Model): boolean {
  return hasOutput(model, 'text') || hasOutput(model, 'image')
}

function listMethods(model: Model): string[] {
  return [
    ...(canGenerateContent(model) ? ['generateContent', 'streamGenerateContent', 'countTokens'] : []),
    ...(hasOutput(model, 'speech') ? ['generateContent', 'streamGenerateContent'] : []),
    ...(hasOutput(model, 'video') ? ['predictLongRunning'] : []),
    ...(hasOutput(model, 'embeddings') ? ['embedContent', 'batchEmbedContents'] : []),
  ]
}

/** A page token is the id of the last model on the previous page. */
function findIndexAfter(models: readonly Model[], id: string): number {
  const index = models.findIndex((model) => model.id === id)
  if (index < 0) throw invalidFieldError('pageToken', 'is not a token of this list')
  return index + 1
}

function splitModelId(id: string): { author: string; slug: string } {
  const [author = '', ...rest] = id.split('/')
  return { author, slug: rest.join('/') }
}

export function toGeminiModel(model: Model): z.input<typeof geminiModel> {
  const { temperature, top_p, top_k } = model.default_parameters ?? {}
  const output = model.top_endpoint.max_completion_tokens
  return {
    name: `models/${model.id}`,
    baseModelId: model.id,
    displayName: model.name,
    description: model.description,
    ...(model.context_length !== null && { inputTokenLimit: model.context_length }),
    ...(output !== null && { outputTokenLimit: output }),
    supportedGenerationMethods: listMethods(model),
    thinking: model.reasoning !== undefined,
    ...(typeof temperature === 'number' && { temperature }),
    ...(typeof top_p === 'number' && { topP: top_p }),
    ...(typeof top_k === 'number' && { topK: top_k }),
  }
}

function toPublisherModel(model: Model): z.input<typeof publisherModel> {
  const { author, slug } = splitModelId(model.id)
  return {
    name: `publishers/${author}/models/${slug}`,
    versionId: 'default',
    displayName: model.name,
    description: model.description,
  }
}
