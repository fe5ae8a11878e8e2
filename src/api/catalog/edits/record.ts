import { z } from 'zod'
import { buildProviders, mergeDeclaredModels } from '../../../catalog/catalog.ts'
import { identifierOf } from '../../../catalog/credential.ts'
import { declaredProvider } from '../../../catalog/declared.ts'
import { declaredModel } from '../../../catalog/declared-model.ts'
import type { CatalogProvider } from '../../../catalog/model.ts'
import { endpointOverride, modelOverride, providerOverride } from '../../../catalog/override-schema.ts'
import { maskSecrets, openSecrets } from '../../../catalog/override-secrets.ts'
import { formatOverrideKey, parseFields } from '../../../catalog/overrides.ts'
import { commonCapabilities } from '../../../catalog/provider.ts'
import type { OverrideRow } from '../../../catalog/store.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { buildCatalogSources } from '../../../gateway/reload.ts'
import { managedBy } from '../../../http/managed-by.ts'
import { maskUserinfo } from '../../../platform/crypto/mask.ts'
import { GatewayError } from '../../../platform/errors/gateway-error.ts'

export const sources = ['built_in', 'snapshot', 'headgate.yaml', 'runtime'] as const
export type Source = (typeof sources)[number]

export const slugPath = z.object({ slug: declaredProvider.shape.slug })

const sourcesField = z
  .array(z.enum(sources))
  .describe('The sources that define it; a later one takes precedence.')

function overrideSchema<Fields extends z.ZodType>(fields: Fields) {
  return z.strictObject({
    fields: fields
      .nullable()
      .describe('The fields as sent, with masked secrets; null if they cannot be read.'),
    problem: z.string().nullable().describe('Why the override is not in force.'),
    updated_at: z.string(),
  })
}

const providerInForce = z.strictObject({
  ...providerOverride.shape,
  api_key: z.string().nullable().describe('The masked key.'),
  headers: z.record(z.string(), z.string()).describe('The headers with masked values.'),
})

export const catalogProvider = z
  .strictObject({
    slug: z.string(),
    sources: sourcesField,
    enabled: z.boolean().describe('Whether the provider has everything required to call it.'),
    edit: overrideSchema(providerOverride).nullable().describe('The override set at run time.'),
    in_force: providerInForce.nullable(),
    base: providerInForce
      .nullable()
      .describe(
        'What it is without the override; null if nothing is overridden, or it was created at run time.',
      ),
    managed_by: managedBy,
  })
  .meta({ id: 'CatalogueProvider' })

export const catalogModel = z
  .strictObject({
    id: z.string(),
    sources: sourcesField,
    edit: overrideSchema(modelOverride).nullable().describe('The override set at run time.'),
    endpoint_edits: z.array(overrideSchema(endpointOverride).extend({ tag: z.string() })),
    in_force: declaredModel.nullable(),
    base: declaredModel
      .nullable()
      .describe(
        'What it is without overrides; null if nothing is overridden, or it was created at run time.',
      ),
    managed_by: managedBy,
  })
  .meta({ id: 'CatalogueModel' })

export function listProviderRecords(gateway: Gateway): z.input<typeof catalogProvider>[] {
  const { catalog, settings } = gateway
  const rows = groupOverridesByName(gateway, 'provider')
  const sources = buildCatalogSources(gateway)
  const builtIn = new Set(sources.providers.map(({ slug }) => slug))
  const base = new Map(
    (rows.size > 0 ? buildProviders(sources) : []).map((provider) => [provider.slug, provider]),
  )
  const declared = new Set(settings.providers.map(({ slug }) => slug))
  const known = new Map(catalog.providers.map((provider) => [provider.slug, provider]))
  return [...new Set([...known.keys(), ...rows.keys()])].map((slug) => {
    const row = rows.get(slug)?.[0]
    const provider = known.get(slug)
    const overridden = row && base.get(slug)
    return {
      slug,
      sources: listSources({
        built_in: builtIn.has(slug),
        'headgate.yaml': declared.has(slug),
        runtime: row !== undefined,
      }),
      enabled: provider?.enabled ?? false,
      edit: row
        ? { ...stateOf(gateway, row), fields: readOrNull(() => readProviderFields(gateway, row)) }
        : null,
      in_force: provider ? toProviderInForce(provider) : null,
      base: overridden ? toProviderInForce(overridden) : null,
    }
  })
}

export function listModelRecords(gateway: Gateway): z.input<typeof catalogModel>[] {
  const { providers, bySlug } = gateway.catalog
  const slugs = new Set(providers.map(({ slug }) => slug))
  const baseModels = mergeDeclaredModels(buildCatalogSources(gateway))
  const currentModels = mergeDeclaredModels({
    ...buildCatalogSources(gateway),
    settings: gateway.overrides.declared,
  })
  const [models, endpoints] = [
    groupOverridesByName(gateway, 'model'),
    groupOverridesByName(gateway, 'endpoint'),
  ]
  return [...new Set([...currentModels.keys(), ...models.keys(), ...endpoints.keys()])].map((id) => {
    const row = models.get(id)?.[0]
    const endpointRows = endpoints.get(id) ?? []
    const model = bySlug.get(id)?.id === id ? currentModels.get(id)?.model : undefined
    const base = baseModels.get(id)
    const isOverridden = row !== undefined || endpointRows.length > 0
    return {
      id,
      sources: listSources({
        ...(base && { [base.source]: true }),
        runtime: isOverridden,
      }),
      edit: row
        ? { ...stateOf(gateway, row), fields: readOrNull(() => parseFields(modelOverride, row)) }
        : null,
      endpoint_edits: endpointRows.map((endpointRow) => ({
        tag: endpointRow.tag,
        ...stateOf(gateway, endpointRow),
        fields: readOrNull(() => parseFields(endpointOverride, endpointRow)),
      })),
      in_force: model
        ? { ...model, endpoints: model.endpoints.filter(({ provider }) => slugs.has(provider)) }
        : null,
      base: (isOverridden && base?.model) || null,
    }
  })
}

function groupOverridesByName(gateway: Gateway, kind: OverrideRow['kind']): Map<string, OverrideRow[]> {
  return Map.groupBy(
    gateway.overrides.rows.filter((row) => row.kind === kind),
    (row) => row.name,
  )
}

function listSources(present: Partial<Record<Source, boolean>>): Source[] {
  return sources.filter((source) => present[source])
}

function stateOf({ overrides }: Gateway, row: OverrideRow) {
  return {
    problem: overrides.problems.get(formatOverrideKey(row))?.message ?? null,
    updated_at: row.updated_at,
  }
}

/** Null if it cannot be read; the problem says why. */
export function readOrNull<T>(read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof GatewayError) return null
    throw error
  }
}

function readProviderFields({ vault }: Gateway, row: OverrideRow): z.output<typeof providerOverride> {
  return { ...parseFields(providerOverride, row), ...maskSecrets(openSecrets(vault, row)?.secrets ?? {}) }
}

function toProviderInForce(provider: CatalogProvider): z.input<typeof providerInForce> {
  const { credential, address } = provider.installation
  const { api_key = null, headers = {} } = maskSecrets({
    ...(credential.kind !== 'none' && { api_key: identifierOf(credential) }),
    ...(provider.headers && { headers: provider.headers }),
  })
  return {
    name: provider.name,
    base_url: maskUserinfo(address ?? provider.baseUrl),
    api_key,
    dialects: provider.wireFormats,
    ...(provider.keyHeader && { key_header: provider.keyHeader }),
    ...(provider.modelList && { model_list: provider.modelList }),
    ...(provider.wildcards && { wildcards: [...provider.wildcards] }),
    headers,
    abilities: [...(provider.capabilities ?? commonCapabilities)],
    bills_abandoned: provider.billsAbandoned ?? false,
    ...provider.attemptPolicy,
    ...(provider.rateLimits && { rate_limits: provider.rateLimits }),
    regions: provider.regions,
    data_policy: provider.dataPolicy,
    ...(provider.headquarters && { headquarters: provider.headquarters }),
    ...(provider.datacenters && { datacenters: provider.datacenters }),
    ...(provider.privacyPolicyUrl && { privacy_policy_url: provider.privacyPolicyUrl }),
    ...(provider.termsOfServiceUrl && { terms_of_service_url: provider.termsOfServiceUrl }),
    ...(provider.statusPageUrl && { status_page_url: provider.statusPageUrl }),
  }
}
