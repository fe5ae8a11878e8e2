import { z } from 'zod'
import type { Model } from '../../catalog/model.ts'
import { modelPath, requireModel } from '../../catalog/model-path.ts'
import { gemini } from '../../dialects/gemini/gemini.ts'
import { apiPaths, cloudPaths } from '../../dialects/gemini/paths.ts'
import { badField } from '../../errors.ts'
import { queryInteger } from '../../lib/page.ts'
import { operation } from '../../operation.ts'
import { listedModels, type ModelViewer } from '../../pipeline/model-access.ts'

/** A model as the clients of the Gemini format read it. What is not known is absent. */
const geminiModel = z
  .strictObject({
    name: z.string().describe('`models/author/slug`'),
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
    name: z.string().describe('`publishers/author/models/slug`'),
    versionId: z.string(),
    displayName: z.string(),
    description: z.string(),
  })
  .meta({ id: 'PublisherModel' })

export const pageQuery = z.object({
  pageSize: queryInteger({ min: 1, max: 1000, fallback: 50 }),
  pageToken: z.string().max(300).optional().describe('From the page before'),
})

const common = {
  method: 'GET',
  tag: 'Gemini',
  access: 'any',
  root: true,
  encodeError: gemini.client.encodeError,
} as const

const nextPageToken = z.string().optional().describe('Absent on the last page')

const listGeminiModels = operation({
  ...common,
  ...apiPaths('/models', { except: 'v1' }),
  id: 'listGeminiModels',
  summary: 'List the models that can be used, in the Gemini format',
  description:
    'Models that answer generateContent. `GET /v1/models` gives the same to clients that send their key as `x-goog-api-key`.',
  query: pageQuery,
  response: z.strictObject({ models: z.array(geminiModel), nextPageToken }).meta({ id: 'GeminiModelList' }),
  handle: (ask) => geminiList(ask, ask.query),
})

const getGeminiModel = operation({
  ...common,
  ...apiPaths('/models/{model}', { except: 'v1' }),
  id: 'getGeminiModel',
  summary: 'Read a model, in the Gemini format',
  params: z.object({ model: z.string().min(1).describe('Such as sandbox%2Fecho') }),
  errors: [404],
  response: geminiModel,
  handle: async ({ gateway, params }) =>
    toGeminiModel(requireModel(gateway.catalog, split(params.model)).model),
})

const getGeminiAuthorModel = operation({
  ...common,
  ...apiPaths('/models/{author}/{slug}', { except: 'v1' }),
  id: 'getGeminiModelOfAuthor',
  summary: 'Read a model by its plain id, in the Gemini format',
  params: modelPath,
  errors: [404],
  response: geminiModel,
  handle: async ({ gateway, params }) => toGeminiModel(requireModel(gateway.catalog, params).model),
})

const listPublisherModels = operation({
  ...common,
  ...cloudPaths(''),
  id: 'listPublisherModels',
  summary: 'List the models that can be used, as publisher models',
  description: 'Those of every publisher, whichever the path names.',
  params: z.object({ publisher: z.string().min(1) }),
  query: pageQuery,
  response: z
    .strictObject({ publisherModels: z.array(publisherModel), nextPageToken })
    .meta({ id: 'PublisherModelList' }),
  handle: async (ask) => {
    const { models, ...next } = await pageOf(ask, ask.query)
    return { publisherModels: models.map(toPublisherModel), ...next }
  },
})

const getPublisherModel = operation({
  ...common,
  ...cloudPaths('/{model}'),
  id: 'getPublisherModel',
  summary: 'Read a publisher model',
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

type Page = z.output<typeof pageQuery>

export async function geminiList(viewer: ModelViewer, page: Page) {
  const { models, ...next } = await pageOf(viewer, page)
  return { models: models.map(toGeminiModel), ...next }
}

async function pageOf(
  viewer: ModelViewer,
  { pageSize, pageToken }: Page,
): Promise<{ models: Model[]; nextPageToken?: string }> {
  const models = (await listedModels(viewer, {})).filter(answersContent)
  const start = pageToken === undefined ? 0 : indexAfter(models, pageToken)
  const shown = models.slice(start, start + pageSize)
  const last = shown.at(-1)
  return { models: shown, ...(last && last !== models.at(-1) && { nextPageToken: last.id }) }
}

function answersContent({ output_modalities }: Model): boolean {
  return output_modalities.includes('text') || output_modalities.includes('image')
}

/** A token is the id of the last model of the page before. */
function indexAfter(models: readonly Model[], id: string): number {
  const index = models.findIndex((model) => model.id === id)
  if (index < 0) throw badField('pageToken', 'is not a token of this list')
  return index + 1
}

function split(id: string): { author: string; slug: string } {
  const [author = '', ...rest] = id.split('/')
  return { author, slug: rest.join('/') }
}

export function toGeminiModel(model: Model): z.input<typeof geminiModel> {
  const { temperature, top_p, top_k } = model.default_parameters ?? {}
  const output = model.top.max_completion_tokens
  return {
    name: `models/${model.id}`,
    baseModelId: model.id,
    displayName: model.name,
    description: model.description,
    ...(model.context_length !== null && { inputTokenLimit: model.context_length }),
    ...(output !== null && { outputTokenLimit: output }),
    supportedGenerationMethods: answersContent(model)
      ? ['generateContent', 'streamGenerateContent', 'countTokens']
      : [],
    thinking: model.reasoning !== undefined,
    ...(typeof temperature === 'number' && { temperature }),
    ...(typeof top_p === 'number' && { topP: top_p }),
    ...(typeof top_k === 'number' && { topK: top_k }),
  }
}

function toPublisherModel(model: Model): z.input<typeof publisherModel> {
  const { author, slug } = split(model.id)
  return {
    name: `publishers/${author}/models/${slug}`,
    versionId: 'default',
    displayName: model.name,
    description: model.description,
  }
}
