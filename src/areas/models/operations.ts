import { z } from 'zod'
import type { Found } from '../../catalog/lookup.ts'
import type { Model } from '../../catalog/model.ts'
import {
  listQuery,
  modelList,
  modelListFields,
  outputModalitiesQuery,
  toModelList,
} from '../../catalog/model-list.ts'
import { modelPath, requireModel } from '../../catalog/model-path.ts'
import { modelRecord, toModelRecord } from '../../catalog/model-record.ts'
import { isGeminiClient } from '../../dialects/gemini/paths.ts'
import { check } from '../../lib/check.ts'
import { queryBoolean } from '../../lib/page.ts'
import { requestUrl } from '../../lib/url.ts'
import { operation } from '../../operation.ts'
import { availabilityQuery, listedModels, usableModels } from '../../pipeline/model-access.ts'
import { publicOrigin } from '../../pipeline/origin.ts'
import { codexModel, toCodexModel } from './codex.ts'
import { type Filter, filterQuery, matches } from './filter.ts'
import { geminiList, geminiModelOperations, pageQuery, toGeminiModel } from './gemini.ts'
import { type Measured, measuredBy } from './measured.ts'
import { inOrder, orderQuery } from './order.ts'
import { rssFeed } from './rss.ts'

const tag = 'Models'

const listModels = operation({
  id: 'listModels',
  method: 'GET',
  path: '/models',
  tag,
  summary: 'List the models that can be used',
  description:
    'Those with a provider that the installation, or the caller, has a credential for; `include_unavailable=true` lists the whole catalogue. Clients that send their key as `x-goog-api-key` get the list of the Gemini format. Without `offset` and `limit` the whole list is one page. `use_rss=true` gives the list as an RSS feed. With `client_version` the list is repeated under `models` in the form the Codex command line reads.',
  access: 'any',
  query: z.object({
    ...filterQuery,
    ...listQuery,
    ...availabilityQuery,
    sort: orderQuery.describe('What is not known of a model puts it last'),
    use_rss: queryBoolean().optional(),
    use_rss_chat_links: queryBoolean().optional(),
    client_version: z.string().optional(),
  }),
  response: z
    .strictObject({ ...modelListFields, models: z.array(codexModel).optional() })
    .meta({ id: 'CatalogueResponse' }),
  otherTypes: ['application/rss+xml'],
  handle: async (ask) => {
    const { gateway, query, request } = ask
    if (isGeminiClient(request)) return Response.json(await geminiList(ask, readGeminiPage(request)))
    const measured = measuredBy(gateway)
    const listed = await listedModels(ask, query)
    const models = inOrder(select(listed, query, measured), query.sort, measured)
    if (query.use_rss) return rssFeed(models, publicOrigin(gateway, request))
    const list = toModelList(models, query, request)
    if (query.client_version === undefined) return list
    return { ...list, models: models.map(toCodexModel) }
  },
})

const countModels = operation({
  id: 'countModels',
  method: 'GET',
  path: '/models/count',
  tag,
  summary: 'Count the models that GET /models lists',
  access: 'any',
  query: z.object({ output_modalities: outputModalitiesQuery, ...availabilityQuery }),
  response: z.strictObject({ data: z.strictObject({ count: z.int() }) }),
  handle: async (ask) => {
    const listed = await listedModels(ask, ask.query)
    return { data: { count: select(listed, ask.query, measuredBy(ask.gateway)).length } }
  },
})

const listUserModels = operation({
  id: 'listUserModels',
  method: 'GET',
  path: '/models/user',
  tag,
  summary: 'List the models that the caller can really use',
  description:
    'Those with an endpoint that the caller may be sent to: its provider has a key, of the installation or of the caller, no guardrail is in the way, and it is in the region of the host name.',
  access: 'any',
  query: z.object({ ...listQuery, output_modalities: outputModalitiesQuery }),
  response: modelList,
  handle: async (ask) => {
    const { gateway, query, request } = ask
    const models = select(gateway.catalog.models, query, measuredBy(gateway))
    return toModelList(await usableModels(ask, models), query, request)
  },
})

const getModel = operation({
  id: 'getModel',
  method: 'GET',
  path: '/model/{author}/{slug}',
  tag,
  summary: 'Read a model',
  access: 'any',
  params: modelPath,
  errors: [404],
  response: z.strictObject({ data: modelRecord }),
  handle: async ({ gateway, params }) => {
    const { model, latest } = requireModel(gateway.catalog, params)
    return { data: toModelRecord(model, latest) }
  },
})

const retrieveModel = operation({
  id: 'retrieveModel',
  method: 'GET',
  path: '/models/{model}',
  tag,
  summary: 'Read a model as the OpenAI and Anthropic SDKs do',
  description:
    'The id is one segment, its slash written as %2F, and the record stands by itself. An id with a plain slash is read the same way.',
  access: 'any',
  params: z.object({ model: z.string().min(1).describe('Such as sandbox%2Fecho') }),
  errors: [404],
  response: modelRecord,
  handle: async ({ gateway, params, request }) => {
    const [author = '', ...rest] = params.model.split('/')
    return inFormatOf(request, requireModel(gateway.catalog, { author, slug: rest.join('/') }))
  },
})

const retrieveModelOfAuthor = operation({
  id: 'retrieveModelOfAuthor',
  method: 'GET',
  path: '/models/{author}/{slug}',
  tag,
  summary: 'Read a model by its plain id',
  description: 'For clients that do not escape the slash. The record stands by itself.',
  access: 'any',
  params: modelPath,
  errors: [404],
  response: modelRecord,
  handle: async ({ gateway, params, request }) => inFormatOf(request, requireModel(gateway.catalog, params)),
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

/** Both formats read a model at `/v1/models/{id}`. */
function inFormatOf(request: Request, { model, latest }: Found) {
  return isGeminiClient(request) ? Response.json(toGeminiModel(model)) : toModelRecord(model, latest)
}

/** Their own names of the parameters, which mean nothing to other clients of the same address. */
function readGeminiPage(request: Request) {
  return check(pageQuery, Object.fromEntries(requestUrl(request).searchParams), 'query')
}

function select(models: readonly Model[], filter: Filter, measured: Measured): readonly Model[] {
  return models.filter((model) => matches(model, filter, measured))
}
