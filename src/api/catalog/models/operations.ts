import { z } from 'zod'
import { resolvePublicUrl } from '../../../access/origin.ts'
import type { ResolvedModel } from '../../../catalog/lookup.ts'
import type { Model } from '../../../catalog/model.ts'
import {
  listQuery,
  modelList,
  modelListFields,
  outputModalitiesQuery,
  toModelList,
} from '../../../catalog/model-list.ts'
import { modelPath, requireModel } from '../../../catalog/model-path.ts'
import { modelRecord, toModelRecord } from '../../../catalog/model-record.ts'
import { isGeminiClient } from '../../../formats/gemini/paths.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { defineOperation } from '../../../http/operation.ts'
import {
  availabilityQuery,
  listReachableModels,
  listUsableModels,
} from '../../../inference/plan/model-access.ts'
import { parseRequestUrl } from '../../../platform/http/request-url.ts'
import { queryBoolean } from '../../../platform/validation/query-params.ts'
import { validateInput } from '../../../platform/validation/validate-input.ts'
import { codexModel, toCodexModel } from './codex.ts'
import { type Filter, filterQuery, matchesFilter } from './filter.ts'
import { geminiModelOperations, geminiPageQuery, readGeminiModelPage, toGeminiModel } from './gemini.ts'
import { reuseList } from './list-cache.ts'
import { type LiveMetrics, readLiveMetrics } from './live-metrics.ts'
import { orderQuery, sortModels } from './order.ts'
import { renderRssFeed } from './rss.ts'

const tag = 'Models'

const listModels = defineOperation({
  id: 'listModels',
  method: 'GET',
  path: '/models',
  tag,
  summary: 'Lists the available models.',
  description:
    'A model is available if the installation or the caller has a credential for one of its providers; `include_unavailable=true` lists the whole catalog. Clients that send their key as `x-goog-api-key` get the Gemini format. Without `offset` and `limit` the whole list is one page. `use_rss=true` returns the list as an RSS feed. With `client_version` the list is repeated under `models` in the format of the Codex CLI.',
  permission: 'models:read',
  query: z.object({
    ...filterQuery,
    ...listQuery,
    ...availabilityQuery,
    sort: orderQuery.describe('The sort order. Models with an unknown value come last.'),
    include_providers: queryBoolean()
      .optional()
      .describe('true: each model names the providers that offer it.'),
    use_rss: queryBoolean().optional(),
    use_rss_chat_links: queryBoolean().optional(),
    client_version: z.string().optional(),
  }),
  response: z
    .strictObject({ ...modelListFields, models: z.array(codexModel).optional() })
    .meta({ id: 'CatalogueResponse' }),
  otherContentTypes: ['application/rss+xml'],
  handle: async (context) => {
    const { gateway, query, httpRequest } = context
    if (isGeminiClient(httpRequest))
      return Response.json(await readGeminiModelPage(context, parseGeminiPage(httpRequest)))
    const metrics = readLiveMetrics(gateway)
    const listed = await listReachableModels(context, query)
    const models = sortModels(filterModels(listed, query, metrics), query.sort, metrics)
    if (query.use_rss) return renderRssFeed(models, resolvePublicUrl(gateway, httpRequest))
    const { pathname, search } = parseRequestUrl(httpRequest)
    return reuseList(gateway, pathname + search, models, () => {
      const list = toModelList(models, query, httpRequest, metrics.findBenchmarks)
      if (query.include_providers) list.data = nameProviders(list.data, models)
      return query.client_version === undefined ? list : { ...list, models: models.map(toCodexModel) }
    })
  },
})

type ModelRecord = z.input<typeof modelRecord>

function nameProviders(records: readonly ModelRecord[], models: readonly Model[]): ModelRecord[] {
  const byId = new Map(models.map((model) => [model.id, model]))
  return records.map((record) => {
    const slugs = byId.get(record.id)?.endpoints.map(({ provider }) => provider.slug) ?? []
    return { ...record, providers: [...new Set(slugs)] }
  })
}

const countModels = defineOperation({
  id: 'countModels',
  method: 'GET',
  path: '/models/count',
  tag,
  summary: 'Counts the models that GET /models lists.',
  permission: 'models:read',
  query: z.object({ output_modalities: outputModalitiesQuery, ...availabilityQuery }),
  response: z.strictObject({ data: z.strictObject({ count: z.int() }) }),
  handle: async (context) => {
    const listed = await listReachableModels(context, context.query)
    return { data: { count: filterModels(listed, context.query, readLiveMetrics(context.gateway)).length } }
  },
})

const listUserModels = defineOperation({
  id: 'listUserModels',
  method: 'GET',
  path: '/models/user',
  tag,
  summary: 'Lists the models that the caller can use.',
  description:
    'A model is listed if the caller can be routed to one of its endpoints: the installation or the caller has a key for its provider, no guardrail excludes it, and it is in the region of the host name.',
  permission: 'models:read',
  query: z.object({ ...listQuery, output_modalities: outputModalitiesQuery }),
  response: modelList,
  handle: async (context) => {
    const { gateway, query, httpRequest } = context
    const metrics = readLiveMetrics(gateway)
    const models = await listUsableModels(context, (model) => matchesFilter(model, query, metrics))
    const { pathname, search } = parseRequestUrl(httpRequest)
    return reuseList(gateway, pathname + search, models, () =>
      toModelList(models, query, httpRequest, metrics.findBenchmarks),
    )
  },
})

const getModel = defineOperation({
  id: 'getModel',
  method: 'GET',
  path: '/model/{author}/{slug}',
  tag,
  summary: 'Retrieves a model.',
  permission: 'models:read',
  params: modelPath,
  errors: [404],
  response: z.strictObject({ data: modelRecord }),
  handle: async ({ gateway, params }) => {
    const { model, latest } = requireModel(gateway.catalog, params)
    return { data: toModelRecord(model, latest, findBenchmarks(gateway, model)) }
  },
})

const retrieveModel = defineOperation({
  id: 'retrieveModel',
  method: 'GET',
  path: '/models/{model}',
  tag,
  summary: 'Retrieves a model, as the OpenAI and Anthropic SDKs do.',
  description:
    'The id is one path segment, with its slash escaped as %2F, and the record is not wrapped in `data`. An id with a plain slash is accepted too.',
  permission: 'models:read',
  params: z.object({ model: z.string().min(1).describe('The model id, such as sandbox%2Fecho.') }),
  errors: [404],
  response: modelRecord,
  handle: async ({ gateway, params, httpRequest }) => {
    const [author = '', ...rest] = params.model.split('/')
    const resolved = requireModel(gateway.catalog, { author, slug: rest.join('/') })
    return toModelResponse(gateway, httpRequest, resolved)
  },
})

const retrieveModelOfAuthor = defineOperation({
  id: 'retrieveModelOfAuthor',
  method: 'GET',
  path: '/models/{author}/{slug}',
  tag,
  summary: 'Retrieves a model by its unescaped id.',
  description: 'For clients that do not escape the slash. The record is not wrapped in `data`.',
  permission: 'models:read',
  params: modelPath,
  errors: [404],
  response: modelRecord,
  handle: async ({ gateway, params, httpRequest }) =>
    toModelResponse(gateway, httpRequest, requireModel(gateway.catalog, params)),
})

export const modelOperations = [
  listModels,
  countModels,
  listUserModels,
  getModel,
  retrieveModel,
  retrieveModelOfAuthor,
  ...geminiModelOperations,
]

/** Builds the response of `/v1/models/{id}`, where clients of both formats read a model. */
function toModelResponse(gateway: Gateway, request: Request, { model, latest }: ResolvedModel) {
  if (isGeminiClient(request)) return Response.json(toGeminiModel(model))
  return toModelRecord(model, latest, findBenchmarks(gateway, model))
}

function findBenchmarks({ benchmarks }: Gateway, model: Model) {
  return benchmarks.current.findModelBenchmarks(model)
}

/** The parameter names of this vendor, which mean nothing to other clients of the same path. */
function parseGeminiPage(request: Request) {
  return validateInput(geminiPageQuery, Object.fromEntries(parseRequestUrl(request).searchParams), 'query')
}

function filterModels(models: readonly Model[], filter: Filter, metrics: LiveMetrics): readonly Model[] {
  return models.filter((model) => matchesFilter(model, filter, metrics))
}
