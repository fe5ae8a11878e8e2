import { z } from 'zod'
import { declaredModel } from '../../../catalog/declared-model.ts'
import { endpointOverride, modelOverride, providerOverride } from '../../../catalog/override-schema.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { defineOperation } from '../../../http/operation.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { type Pagination, pageQuery } from '../../../platform/validation/query-params.ts'
import { discoveryOperations } from './discovery.ts'
import { deleteOverride, putOverride, putOverrides } from './overrides.ts'
import { newProviderOverride } from './provider-override.ts'
import {
  catalogModel,
  catalogProvider,
  listModelRecords,
  listProviderRecords,
  type Source,
  slugPath,
  sources,
} from './record.ts'
import { testProvider } from './test-provider.ts'

const tag = 'Catalogue'
const deletedResponse = z.strictObject({ deleted: z.literal(true) })
const listQuery = pageQuery.extend({
  source: z.enum(sources).optional().describe('Lists only entries from this source.'),
})

const modelPath = z.object({
  author: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, 'must be the author of a model id'),
  slug: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*(:[a-z0-9-]+)?$/, 'must be the slug of a model id, without its author')
    .describe('Can end in a variant such as `:free`.'),
})
const endpointPath = modelPath.extend({
  tag: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]*(\/[a-z0-9][a-z0-9._-]*)?$/, 'must be provider or provider/variant')
    .describe('`provider`, or `provider/variant` with the slash escaped as `%2F`.'),
})

const listProviders = defineOperation({
  id: 'listCatalogueProviders',
  method: 'GET',
  path: '/catalogue/providers',
  tag,
  summary: 'Lists the providers as they are in force, with their sources.',
  permission: 'catalogue:read',
  query: listQuery,
  response: z.strictObject({ data: z.array(catalogProvider), total_count: z.int() }),
  handle: async ({ gateway, query }) => paginate(listProviderRecords(gateway), query),
})

const getProvider = defineOperation({
  id: 'getCatalogueProvider',
  method: 'GET',
  path: '/catalogue/providers/{slug}',
  tag,
  summary: 'Retrieves a provider as it is in force.',
  permission: 'catalogue:read',
  params: slugPath,
  errors: [404],
  response: z.strictObject({ data: catalogProvider }),
  handle: async ({ gateway, params }) => ({ data: requireProviderRecord(gateway, params.slug) }),
})

const putProvider = defineOperation({
  id: 'putCatalogueProvider',
  method: 'PUT',
  path: '/catalogue/providers/{slug}',
  tag,
  summary: 'Creates or overrides a provider.',
  description:
    'The fields of a provider in headgate.yaml. For an existing provider, send only the fields to override: the request replaces the previous override. A masked secret stays unchanged, unless `base_url` changes to another origin.',
  permission: 'catalogue:write',
  params: slugPath,
  body: providerOverride,
  errors: [409],
  response: z.strictObject({ data: catalogProvider }),
  handle: async (context) => {
    const { gateway, body } = context
    const { slug } = context.params
    await putOverrides(context, [newProviderOverride(gateway, slug, body)])
    return { data: requireProviderRecord(gateway, slug) }
  },
})

const deleteProvider = defineOperation({
  id: 'deleteCatalogueProvider',
  method: 'DELETE',
  path: '/catalogue/providers/{slug}',
  tag,
  summary: 'Deletes the override of a provider and wipes its secrets.',
  permission: 'catalogue:write',
  params: slugPath,
  errors: [404, 409],
  response: deletedResponse,
  handle: async (context) => {
    await deleteOverride(context, { kind: 'provider', name: context.params.slug, tag: '' })
    return { deleted: true as const }
  },
})

const listModels = defineOperation({
  id: 'listCatalogueModels',
  method: 'GET',
  path: '/catalogue/models',
  tag,
  summary: 'Lists the models as they are in force, with their sources.',
  permission: 'catalogue:read',
  query: listQuery,
  response: z.strictObject({ data: z.array(catalogModel), total_count: z.int() }),
  handle: async ({ gateway, query }) => paginate(listModelRecords(gateway), query),
})

const getModel = defineOperation({
  id: 'getCatalogueModel',
  method: 'GET',
  path: '/catalogue/models/{author}/{slug}',
  tag,
  summary: 'Retrieves a model as it is in force.',
  permission: 'catalogue:read',
  params: modelPath,
  errors: [404],
  response: z.strictObject({ data: catalogModel }),
  handle: async ({ gateway, params }) => ({ data: requireModelRecord(gateway, parseModelId(params)) }),
})

const putModel = defineOperation({
  id: 'putCatalogueModel',
  method: 'PUT',
  path: '/catalogue/models/{author}/{slug}',
  tag,
  summary: 'Creates or overrides a model.',
  description:
    'The fields of a model in headgate.yaml. For an existing model, send only the fields to override: the request replaces the previous override. `endpoints` replaces all endpoints.',
  permission: 'catalogue:write',
  params: modelPath,
  body: modelOverride,
  errors: [409],
  response: z.strictObject({ data: catalogModel }),
  handle: async (context) => {
    const { gateway, body } = context
    const id = parseModelId(context.params)
    await putOverride(context, { kind: 'model', name: id, tag: '' }, () => toPlainColumns(body))
    return { data: requireModelRecord(gateway, id) }
  },
})

const deleteModel = defineOperation({
  id: 'deleteCatalogueModel',
  method: 'DELETE',
  path: '/catalogue/models/{author}/{slug}',
  tag,
  summary: 'Deletes the override of a model. Overrides of single endpoints stay.',
  permission: 'catalogue:write',
  params: modelPath,
  errors: [404, 409],
  response: deletedResponse,
  handle: async (context) => {
    await deleteOverride(context, { kind: 'model', name: parseModelId(context.params), tag: '' })
    return { deleted: true as const }
  },
})

const putEndpoint = defineOperation({
  id: 'putCatalogueEndpoint',
  method: 'PUT',
  path: '/catalogue/models/{author}/{slug}/endpoints/{tag}',
  tag,
  summary: 'Creates or overrides an endpoint of a model, such as its price.',
  description:
    'The fields of an endpoint in headgate.yaml. For an existing endpoint, send only the fields to override: `pricing` alone changes the price of new requests.',
  permission: 'catalogue:write',
  params: endpointPath,
  body: endpointOverride,
  errors: [404, 409],
  response: z.strictObject({ data: catalogModel }),
  handle: async (context) => {
    const { gateway, params, body } = context
    const id = parseModelId(params)
    requireModelRecord(gateway, id)
    await putOverride(context, { kind: 'endpoint', name: id, tag: params.tag }, () => toPlainColumns(body))
    return { data: requireModelRecord(gateway, id) }
  },
})

const deleteEndpoint = defineOperation({
  id: 'deleteCatalogueEndpoint',
  method: 'DELETE',
  path: '/catalogue/models/{author}/{slug}/endpoints/{tag}',
  tag,
  summary: 'Deletes the override of an endpoint.',
  permission: 'catalogue:write',
  params: endpointPath,
  errors: [404],
  response: deletedResponse,
  handle: async (context) => {
    const { params } = context
    await deleteOverride(context, { kind: 'endpoint', name: parseModelId(params), tag: params.tag })
    return { deleted: true as const }
  },
})

export const catalogOperations = [
  listProviders,
  getProvider,
  putProvider,
  deleteProvider,
  testProvider,
  ...discoveryOperations,
  listModels,
  getModel,
  putModel,
  deleteModel,
  putEndpoint,
  deleteEndpoint,
]

function paginate<R extends { sources: Source[] }>(
  all: R[],
  query: Pagination & { source?: Source | undefined },
) {
  const { source, offset, limit } = query
  const matching = source ? all.filter((record) => record.sources.includes(source)) : all
  return { data: matching.slice(offset, offset + limit), total_count: matching.length }
}

function requireProviderRecord(gateway: Gateway, slug: string) {
  const record = listProviderRecords(gateway).find((candidate) => candidate.slug === slug)
  if (!record) throw gatewayError('not_found', 'The provider does not exist.')
  return record
}

function requireModelRecord(gateway: Gateway, id: string) {
  const record = listModelRecords(gateway).find((candidate) => candidate.id === id)
  if (!record) throw gatewayError('not_found', 'The model does not exist.')
  return record
}

function parseModelId({ author, slug }: z.output<typeof modelPath>): string {
  const result = declaredModel.shape.id.safeParse(`${author}/${slug}`)
  if (result.success) return result.data
  throw invalidFieldError('slug', result.error.issues[0]?.message ?? 'is not valid')
}

function toPlainColumns(body: object) {
  return { fields: JSON.stringify(body), sealed_secrets: null }
}
