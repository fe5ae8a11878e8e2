import { z } from 'zod'
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
import type { Gateway } from '../../gateway.ts'
import { queryBoolean } from '../../lib/page.ts'
import { requestUrl } from '../../lib/url.ts'
import { operation } from '../../operation.ts'
import { codexModel, toCodexModel } from './codex.ts'
import { type Filter, filterQuery, matches } from './filter.ts'
import { measuredBy } from './measured.ts'
import { inOrder, orderQuery } from './order.ts'
import { rssFeed } from './rss.ts'
import { usableModels } from './usable.ts'

const tag = 'Models'

const listModels = operation({
  id: 'listModels',
  method: 'GET',
  path: '/models',
  tag,
  summary: 'List the models of the catalogue',
  description:
    'Without `offset` and `limit` the whole list is one page. `use_rss=true` gives the list as an RSS feed. With `client_version` the list is repeated under `models` in the form the Codex command line reads.',
  access: 'any',
  query: z.object({
    ...filterQuery,
    ...listQuery,
    sort: orderQuery.describe('What is not known of a model puts it last'),
    use_rss: queryBoolean().optional(),
    use_rss_chat_links: queryBoolean().optional(),
    client_version: z.string().optional(),
  }),
  response: z
    .strictObject({ ...modelListFields, models: z.array(codexModel).optional() })
    .meta({ id: 'CatalogueResponse' }),
  handle: async ({ gateway, query, request }) => {
    const measured = measuredBy(gateway)
    const models = inOrder(select(gateway, query, measured), query.sort, measured)
    if (query.use_rss) return rssFeed(models, originOf(gateway, request))
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
  summary: 'Count the models of the catalogue',
  access: 'any',
  query: z.object({ output_modalities: outputModalitiesQuery }),
  response: z.strictObject({ data: z.strictObject({ count: z.int() }) }),
  handle: async ({ gateway, query }) => ({ data: { count: select(gateway, query).length } }),
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
  handle: async ({ gateway, query, request, caller, region }) =>
    toModelList(await usableModels(gateway, caller, region, select(gateway, query)), query, request),
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
  description: 'The id is one segment, its slash written as %2F, and the record stands by itself.',
  access: 'any',
  params: z.object({ model: z.string().min(1).describe('Such as sandbox%2Fecho') }),
  errors: [404],
  response: modelRecord,
  handle: async ({ gateway, params }) => {
    const [author = '', ...rest] = params.model.split('/')
    const { model, latest } = requireModel(gateway.catalog, { author, slug: rest.join('/') })
    return toModelRecord(model, latest)
  },
})

export const modelOperations = [listModels, countModels, listUserModels, getModel, retrieveModel]

function select(gateway: Gateway, filter: Filter, measured = measuredBy(gateway)): readonly Model[] {
  return gateway.catalog.models.filter((model) => matches(model, filter, measured))
}

function originOf(gateway: Gateway, request: Request): string {
  return gateway.settings.public_url
    ? new URL(gateway.settings.public_url).origin
    : requestUrl(request).origin
}
