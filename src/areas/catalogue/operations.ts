import { z } from 'zod'
import { catalogProviders } from '../../catalog/catalog.ts'
import { declaredProvider } from '../../catalog/declared.ts'
import { endpointEdit, modelEdit, providerEdit } from '../../catalog/declared-edit.ts'
import { declaredModel } from '../../catalog/declared-model.ts'
import { keepMasked, openSecrets, sealFields } from '../../catalog/edit-secrets.ts'
import { editedOrigin } from '../../catalog/edits.ts'
import { badField, fail } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import { type Page, pageQuery } from '../../lib/page.ts'
import { operation } from '../../operation.ts'
import { catalogSources } from '../../reload.ts'
import { deleteEdit, putEdit } from './change.ts'
import {
  catalogueModel,
  catalogueProvider,
  modelRecords,
  providerRecords,
  readable,
  type Source,
  sources,
} from './record.ts'

const tag = 'Catalogue'
const access = 'operator'
const deleted = z.strictObject({ deleted: z.literal(true) })
const listQuery = pageQuery.extend({
  source: z.enum(sources).optional().describe('Only what this one speaks of'),
})

const slugPath = z.object({ slug: declaredProvider.shape.slug })
const modelPath = z.object({
  author: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, 'must be the first half of a model id'),
  slug: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*(:[a-z0-9-]+)?$/, 'must be the second half of a model id')
    .describe('May end in a variant such as `:free`'),
})
const endpointPath = modelPath.extend({
  tag: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]*(\/[a-z0-9][a-z0-9._-]*)?$/, 'must be provider or provider/variant')
    .describe('`provider`, or `provider/variant` with the slash as `%2F`'),
})

const listProviders = operation({
  id: 'listCatalogueProviders',
  method: 'GET',
  path: '/catalogue/providers',
  tag,
  summary: 'List the providers as they are in force, and where that comes from',
  access,
  query: listQuery,
  response: z.strictObject({ data: z.array(catalogueProvider), total_count: z.int() }),
  handle: async ({ gateway, query }) => pageOf(providerRecords(gateway), query),
})

const getProvider = operation({
  id: 'getCatalogueProvider',
  method: 'GET',
  path: '/catalogue/providers/{slug}',
  tag,
  summary: 'Read a provider as it is in force',
  access,
  params: slugPath,
  errors: [404],
  response: z.strictObject({ data: catalogueProvider }),
  handle: async ({ gateway, params }) => ({ data: providerRecord(gateway, params.slug) }),
})

const putProvider = operation({
  id: 'putCatalogueProvider',
  method: 'PUT',
  path: '/catalogue/providers/{slug}',
  tag,
  summary: 'Add a provider, or change one that there is',
  description:
    'The fields of a provider in headgate.yaml. Of one that there is, only what is to change; what was changed before and is not sent again is as it was. A masked secret stays as it is, unless `base_url` leads to another origin.',
  access,
  params: slugPath,
  body: providerEdit,
  errors: [409],
  response: z.strictObject({ data: catalogueProvider }),
  handle: async ({ gateway, params: { slug }, body }) => {
    await putEdit(gateway, { kind: 'provider', name: slug, tag: '' }, (held) => {
      const known = catalogProviders(catalogSources(gateway)).find((provider) => provider.slug === slug)
      const origin = editedOrigin(known, body.base_url)
      const fields = keepMasked(body, held ? readable(() => openSecrets(gateway.vault, held)) : null, origin)
      return sealFields(gateway.vault, slug, origin, fields)
    })
    return { data: providerRecord(gateway, slug) }
  },
})

const deleteProvider = operation({
  id: 'deleteCatalogueProvider',
  method: 'DELETE',
  path: '/catalogue/providers/{slug}',
  tag,
  summary: 'Take back what was changed of a provider; its secrets are wiped',
  access,
  params: slugPath,
  errors: [404, 409],
  response: deleted,
  handle: async ({ gateway, params }) => {
    await deleteEdit(gateway, { kind: 'provider', name: params.slug, tag: '' })
    return { deleted: true as const }
  },
})

const listModels = operation({
  id: 'listCatalogueModels',
  method: 'GET',
  path: '/catalogue/models',
  tag,
  summary: 'List the models as they are in force, and where that comes from',
  access,
  query: listQuery,
  response: z.strictObject({ data: z.array(catalogueModel), total_count: z.int() }),
  handle: async ({ gateway, query }) => pageOf(modelRecords(gateway), query),
})

const getModel = operation({
  id: 'getCatalogueModel',
  method: 'GET',
  path: '/catalogue/models/{author}/{slug}',
  tag,
  summary: 'Read a model as it is in force',
  access,
  params: modelPath,
  errors: [404],
  response: z.strictObject({ data: catalogueModel }),
  handle: async ({ gateway, params }) => ({ data: modelRecord(gateway, idOf(params)) }),
})

const putModel = operation({
  id: 'putCatalogueModel',
  method: 'PUT',
  path: '/catalogue/models/{author}/{slug}',
  tag,
  summary: 'Add a model, or change one that there is',
  description:
    'The fields of a model in headgate.yaml. Of one that there is, only what is to change; what was changed before and is not sent again is as it was. `endpoints` takes the place of all of them.',
  access,
  params: modelPath,
  body: modelEdit,
  errors: [409],
  response: z.strictObject({ data: catalogueModel }),
  handle: async ({ gateway, params, body }) => {
    const id = idOf(params)
    await putEdit(gateway, { kind: 'model', name: id, tag: '' }, () => plain(body))
    return { data: modelRecord(gateway, id) }
  },
})

const deleteModel = operation({
  id: 'deleteCatalogueModel',
  method: 'DELETE',
  path: '/catalogue/models/{author}/{slug}',
  tag,
  summary: 'Take back what was changed of a model; endpoints that were changed by themselves stay so',
  access,
  params: modelPath,
  errors: [404, 409],
  response: deleted,
  handle: async ({ gateway, params }) => {
    await deleteEdit(gateway, { kind: 'model', name: idOf(params), tag: '' })
    return { deleted: true as const }
  },
})

const putEndpoint = operation({
  id: 'putCatalogueEndpoint',
  method: 'PUT',
  path: '/catalogue/models/{author}/{slug}/endpoints/{tag}',
  tag,
  summary: 'Add an endpoint to a model, or change one, such as its price',
  description:
    'The fields of an endpoint in headgate.yaml. Of one that there is, only what is to change: `pricing` alone changes the price, for requests that come from now on.',
  access,
  params: endpointPath,
  body: endpointEdit,
  errors: [404, 409],
  response: z.strictObject({ data: catalogueModel }),
  handle: async ({ gateway, params, body }) => {
    const id = idOf(params)
    modelRecord(gateway, id)
    await putEdit(gateway, { kind: 'endpoint', name: id, tag: params.tag }, () => plain(body))
    return { data: modelRecord(gateway, id) }
  },
})

const deleteEndpoint = operation({
  id: 'deleteCatalogueEndpoint',
  method: 'DELETE',
  path: '/catalogue/models/{author}/{slug}/endpoints/{tag}',
  tag,
  summary: 'Take back what was changed of an endpoint',
  access,
  params: endpointPath,
  errors: [404],
  response: deleted,
  handle: async ({ gateway, params }) => {
    await deleteEdit(gateway, { kind: 'endpoint', name: idOf(params), tag: params.tag })
    return { deleted: true as const }
  },
})

export const catalogueOperations = [
  listProviders,
  getProvider,
  putProvider,
  deleteProvider,
  listModels,
  getModel,
  putModel,
  deleteModel,
  putEndpoint,
  deleteEndpoint,
]

function pageOf<R extends { sources: Source[] }>(all: R[], query: Page & { source?: Source | undefined }) {
  const { source, offset, limit } = query
  const matching = source ? all.filter((record) => record.sources.includes(source)) : all
  return { data: matching.slice(offset, offset + limit), total_count: matching.length }
}

function providerRecord(gateway: Gateway, slug: string) {
  const record = providerRecords(gateway).find((candidate) => candidate.slug === slug)
  if (!record) throw fail('not_found', 'The provider does not exist.')
  return record
}

function modelRecord(gateway: Gateway, id: string) {
  const record = modelRecords(gateway).find((candidate) => candidate.id === id)
  if (!record) throw fail('not_found', 'The model does not exist.')
  return record
}

function idOf({ author, slug }: z.output<typeof modelPath>): string {
  const result = declaredModel.shape.id.safeParse(`${author}/${slug}`)
  if (result.success) return result.data
  throw badField('slug', result.error.issues[0]?.message ?? 'is not valid')
}

function plain(body: object) {
  return { fields: JSON.stringify(body), sealed_secrets: null }
}
