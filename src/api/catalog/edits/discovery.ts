import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import { buildProviders } from '../../../catalog/catalog.ts'
import { changeKinds } from '../../../catalog/discovery/compare-lists.ts'
import { type ListedModel, listedModel } from '../../../catalog/discovery/listed-model.ts'
import { findList, listChanges, parseList } from '../../../catalog/discovery/store.ts'
import type { CatalogProvider } from '../../../catalog/model.ts'
import { providerOverride } from '../../../catalog/override-schema.ts'
import { applyOverrides, formatOverrideKey } from '../../../catalog/overrides.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { refreshModelList } from '../../../gateway/refresh-model-lists.ts'
import { buildCatalogSources } from '../../../gateway/reload.ts'
import { defineOperation } from '../../../http/operation.ts'
import { credentialTestLimit } from '../../../http/rate-limit.ts'
import { listProviderModels } from '../../../inference/upstream/list-models.ts'
import { testOutcome } from '../../../inference/upstream/test-outcome.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import { declareModels } from './declare-models.ts'
import { newProviderOverride } from './provider-override.ts'
import { slugPath } from './record.ts'

const tag = 'Catalogue'

const offeredModel = listedModel
  .extend({
    declared_as: z.array(z.string()).describe('The ids under which the catalog has it at this provider.'),
  })
  .meta({ id: 'OfferedModel' })

const tested = z.strictObject({
  test: testOutcome,
  models: z.array(offeredModel).describe("The provider's own list; empty if it could not be read."),
})

const inspectProvider = defineOperation({
  id: 'inspectCatalogueProvider',
  method: 'POST',
  path: '/catalogue/providers/{slug}/inspect',
  tag,
  summary: 'Tests the address and key of a provider by reading its list of models, and stores nothing.',
  description:
    'The body has the fields of `PUT /catalogue/providers/{slug}`; without them it is the provider in force. Takes at most about 30 seconds. Declare models of the list with `POST /catalogue/providers/{slug}/models`.',
  permission: 'catalogue:write',
  params: slugPath,
  body: providerOverride,
  optionalBody: true,
  rateLimit: credentialTestLimit,
  errors: [404],
  response: z.strictObject({ data: tested }),
  handle: async (context) => {
    const { gateway, params, body } = context
    const isSent = Object.keys(body ?? {}).length > 0
    const provider = isSent
      ? previewProvider(gateway, params.slug, body)
      : requireProvider(gateway, params.slug)
    const { test, models } = await listProviderModels(gateway, provider)
    await recordReading(context, test.ok)
    return { data: { test, models: describeModels(gateway, params.slug, models ?? []) } }
  },
})

const refreshModels = defineOperation({
  id: 'refreshCatalogueProviderModels',
  method: 'POST',
  path: '/catalogue/providers/{slug}/models/refresh',
  tag,
  summary: "Reads a provider's own list of models now, and from then on every hour.",
  permission: 'catalogue:write',
  params: slugPath,
  rateLimit: credentialTestLimit,
  errors: [404],
  response: z.strictObject({ data: tested }),
  handle: async (context) => {
    const { gateway, params } = context
    const provider = requireProvider(gateway, params.slug)
    const { test, models } = await refreshModelList(gateway, provider)
    await recordReading(context, test.ok)
    return { data: { test, models: describeModels(gateway, params.slug, models ?? []) } }
  },
})

const listOffered = defineOperation({
  id: 'listCatalogueProviderModels',
  method: 'GET',
  path: '/catalogue/providers/{slug}/models',
  tag,
  summary: "Lists the models of a provider's own list, as it was last read.",
  permission: 'catalogue:read',
  params: slugPath,
  query: pageQuery,
  errors: [404],
  response: z.strictObject({
    data: z.array(offeredModel),
    total_count: z.int(),
    refreshed_at: z.string().nullable().describe('null if the list was never read.'),
    problem: z.string().nullable().describe('Why the last attempt to read it failed.'),
  }),
  handle: async ({ gateway, params, query }) => {
    requireProvider(gateway, params.slug)
    const row = await findList(gateway.db, params.slug)
    const models = row ? parseList(row) : []
    const page = models.slice(query.offset, query.offset + query.limit)
    return {
      data: describeModels(gateway, params.slug, page),
      total_count: models.length,
      refreshed_at: row?.refreshed_at ?? null,
      problem: row?.problem ?? null,
    }
  },
})

const declareBody = z.strictObject({
  provider: providerOverride
    .optional()
    .describe('Creates or overrides the provider too, as `PUT /catalogue/providers/{slug}`.'),
  models: z
    .array(
      z.strictObject({
        upstream_model: z.string().min(1).max(200).describe("The provider's name of the model."),
        id: z
          .string()
          .max(256)
          .optional()
          .describe(
            'The id in requests. A model that exists gets an endpoint. Defaults to the upstream model, with the slug of the provider as its author.',
          ),
        pricing: listedModel.shape.pricing.describe("Defaults to the price in the provider's list."),
      }),
    )
    .min(1)
    .max(200),
})

const declareOffered = defineOperation({
  id: 'declareCatalogueProviderModels',
  method: 'POST',
  path: '/catalogue/providers/{slug}/models',
  tag,
  summary: 'Declares models of a provider, with what its own list says about them. All or none.',
  permission: 'catalogue:write',
  params: slugPath,
  body: declareBody,
  rateLimit: credentialTestLimit,
  errors: [404, 409],
  response: z.strictObject({
    data: z.array(z.strictObject({ upstream_model: z.string(), id: z.string() })),
  }),
  handle: async (context) => {
    const { gateway, params, body } = context
    const provider = body.provider
      ? previewProvider(gateway, params.slug, body.provider)
      : requireProvider(gateway, params.slug)
    const { models } = await listProviderModels(gateway, provider)
    return { data: await declareModels(context, params.slug, body, models ?? []) }
  },
})

const changeRecord = z
  .strictObject({
    id: z.string(),
    provider: z.string(),
    model: z.string(),
    kind: z.enum(changeKinds),
    before: listedModel.nullable(),
    after: listedModel.nullable(),
    created_at: z.string(),
  })
  .meta({ id: 'ModelListChange' })

const listModelChanges = defineOperation({
  id: 'listCatalogueModelChanges',
  method: 'GET',
  path: '/catalogue/model-changes',
  tag,
  summary: "Lists what has changed in providers' own lists of models, newest first.",
  permission: 'catalogue:read',
  query: pageQuery.extend({ provider: z.string().max(100).optional() }),
  response: z.strictObject({ data: z.array(changeRecord), total_count: z.int() }),
  handle: async ({ gateway, query }) => {
    const { rows, total } = await listChanges(gateway.db, query.provider, query)
    const decode = (text: string | null) => (text === null ? null : (JSON.parse(text) as ListedModel))
    return {
      data: rows.map((row) => ({ ...row, before: decode(row.before), after: decode(row.after) })),
      total_count: total,
    }
  },
})

export const discoveryOperations = [
  inspectProvider,
  refreshModels,
  listOffered,
  declareOffered,
  listModelChanges,
]

function requireProvider({ catalog }: Gateway, slug: string): CatalogProvider {
  const provider = catalog.providers.find((candidate) => candidate.slug === slug)
  if (!provider) throw gatewayError('not_found', 'The provider does not exist.')
  return provider
}

/** The provider as it would be with this override. */
function previewProvider(
  gateway: Gateway,
  slug: string,
  body: z.output<typeof providerOverride>,
): CatalogProvider {
  const { name, build } = newProviderOverride(gateway, slug, body)
  const existing = gateway.overrides.rows.find((row) => formatOverrideKey(row) === formatOverrideKey(name))
  const row = { ...name, ...build(existing), updated_at: isoNow(gateway.clock) }
  const sources = buildCatalogSources(gateway)
  const { declared, problems } = applyOverrides(sources, [row], gateway.vault)
  const problem = problems.get(formatOverrideKey(row))
  if (problem) throw problem
  const found = buildProviders({ ...sources, settings: declared }).find(
    (candidate) => candidate.slug === slug,
  )
  if (!found) throw gatewayError('not_found', 'The provider is disabled in headgate.yaml.')
  return found
}

function describeModels({ catalog }: Gateway, slug: string, models: readonly ListedModel[]) {
  const declared = new Map<string, string[]>()
  for (const { id, endpoints } of catalog.models)
    for (const { provider, upstream_model } of endpoints)
      if (provider.slug === slug) declared.set(upstream_model, [...(declared.get(upstream_model) ?? []), id])
  return models.map((model) => ({ ...model, declared_as: [...new Set(declared.get(model.id))] }))
}

/** Readings send the credential of the installation. */
function recordReading(
  request: Parameters<typeof transact>[0] & { params: { slug: string } },
  ok: boolean,
): Promise<void> {
  return transact(request, async (_tx, record) =>
    record({
      action: 'catalogue_provider.list_models',
      target: { type: 'catalogue_provider', id: request.params.slug },
      details: { ok },
    }),
  )
}
