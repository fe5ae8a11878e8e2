import { z } from 'zod'
import { declaredModels } from '../../catalog/catalog.ts'
import { nameOf } from '../../catalog/credential.ts'
import { endpointEdit, modelEdit, providerEdit } from '../../catalog/declared-edit.ts'
import { declaredModel } from '../../catalog/declared-model.ts'
import { maskSecrets, openSecrets } from '../../catalog/edit-secrets.ts'
import { editKey, fieldsOf } from '../../catalog/edits.ts'
import type { CatalogProvider } from '../../catalog/model.ts'
import { commonAbilities } from '../../catalog/provider.ts'
import type { EditRow } from '../../catalog/store.ts'
import { GatewayError } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import { maskUser } from '../../lib/mask.ts'
import { catalogSources } from '../../reload.ts'

export const sources = ['built_in', 'snapshot', 'headgate.yaml', 'runtime'] as const
export type Source = (typeof sources)[number]

const sourcesField = z.array(z.enum(sources)).describe('Who speaks of it; a later one counts more')

function edit<Fields extends z.ZodType>(fields: Fields) {
  return z.strictObject({
    fields: fields.nullable().describe('As sent, secrets masked; null when they cannot be read'),
    problem: z.string().nullable().describe('Why it is not in force'),
    updated_at: z.string(),
  })
}

const providerInForce = z.strictObject({
  ...providerEdit.shape,
  api_key: z.string().nullable().describe('Masked'),
  headers: z.record(z.string(), z.string()).describe('Masked'),
})

export const catalogueProvider = z
  .strictObject({
    slug: z.string(),
    sources: sourcesField,
    enabled: z.boolean().describe('It has what it needs to be called'),
    edit: edit(providerEdit).nullable().describe('What was changed at run time'),
    in_force: providerInForce.nullable(),
  })
  .meta({ id: 'CatalogueProvider' })

export const catalogueModel = z
  .strictObject({
    id: z.string(),
    sources: sourcesField,
    edit: edit(modelEdit).nullable().describe('What was changed at run time'),
    endpoint_edits: z.array(edit(endpointEdit).extend({ tag: z.string() })),
    in_force: declaredModel.nullable(),
  })
  .meta({ id: 'CatalogueModel' })

export function providerRecords(gateway: Gateway): z.input<typeof catalogueProvider>[] {
  const { catalog, settings } = gateway
  const rows = editsByName(gateway, 'provider')
  const builtIn = new Set(catalogSources(gateway).providers.map(({ slug }) => slug))
  const declared = new Set(settings.providers.map(({ slug }) => slug))
  const known = new Map(catalog.providers.map((provider) => [provider.slug, provider]))
  return [...new Set([...known.keys(), ...rows.keys()])].map((slug) => {
    const row = rows.get(slug)?.[0]
    const provider = known.get(slug)
    return {
      slug,
      sources: named({
        built_in: builtIn.has(slug),
        'headgate.yaml': declared.has(slug),
        runtime: row !== undefined,
      }),
      enabled: provider?.enabled ?? false,
      edit: row ? { ...stateOf(gateway, row), fields: readable(() => providerFields(gateway, row)) } : null,
      in_force: provider ? inForce(provider) : null,
    }
  })
}

export function modelRecords(gateway: Gateway): z.input<typeof catalogueModel>[] {
  const { providers, bySlug } = gateway.catalog
  const slugs = new Set(providers.map(({ slug }) => slug))
  const beneath = declaredModels(catalogSources(gateway))
  const now = declaredModels({ ...catalogSources(gateway), settings: gateway.edits.declared })
  const [models, endpoints] = [editsByName(gateway, 'model'), editsByName(gateway, 'endpoint')]
  return [...new Set([...now.keys(), ...models.keys(), ...endpoints.keys()])].map((id) => {
    const row = models.get(id)?.[0]
    const changed = endpoints.get(id) ?? []
    const model = bySlug.get(id)?.id === id ? now.get(id)?.model : undefined
    const source = beneath.get(id)?.source
    return {
      id,
      sources: named({
        ...(source && { [source]: true }),
        runtime: row !== undefined || changed.length > 0,
      }),
      edit: row ? { ...stateOf(gateway, row), fields: readable(() => fieldsOf(modelEdit, row)) } : null,
      endpoint_edits: changed.map((each) => ({
        tag: each.tag,
        ...stateOf(gateway, each),
        fields: readable(() => fieldsOf(endpointEdit, each)),
      })),
      in_force: model
        ? { ...model, endpoints: model.endpoints.filter(({ provider }) => slugs.has(provider)) }
        : null,
    }
  })
}

function editsByName(gateway: Gateway, kind: EditRow['kind']): Map<string, EditRow[]> {
  return Map.groupBy(
    gateway.edits.rows.filter((row) => row.kind === kind),
    (row) => row.name,
  )
}

function named(present: Partial<Record<Source, boolean>>): Source[] {
  return sources.filter((source) => present[source])
}

function stateOf({ edits }: Gateway, row: EditRow) {
  return { problem: edits.problems.get(editKey(row))?.message ?? null, updated_at: row.updated_at }
}

/** What cannot be read is not shown; the problem says why. */
export function readable<T>(read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof GatewayError) return null
    throw error
  }
}

function providerFields({ vault }: Gateway, row: EditRow): z.output<typeof providerEdit> {
  return { ...fieldsOf(providerEdit, row), ...maskSecrets(openSecrets(vault, row)?.secrets ?? {}) }
}

function inForce(provider: CatalogProvider): z.input<typeof providerInForce> {
  const { credential, address } = provider.installed
  const { api_key = null, headers = {} } = maskSecrets({
    ...(credential.kind !== 'none' && { api_key: nameOf(credential) }),
    ...(provider.headers && { headers: provider.headers }),
  })
  return {
    name: provider.name,
    base_url: maskUser(address ?? provider.baseUrl),
    api_key,
    dialects: provider.dialects,
    ...(provider.keyHeader && { key_header: provider.keyHeader }),
    headers,
    abilities: [...(provider.abilities ?? commonAbilities)],
    bills_abandoned: provider.billsAbandoned ?? false,
    regions: provider.regions,
    data_policy: provider.dataPolicy,
    ...(provider.headquarters && { headquarters: provider.headquarters }),
    ...(provider.datacenters && { datacenters: provider.datacenters }),
    ...(provider.privacyPolicyUrl && { privacy_policy_url: provider.privacyPolicyUrl }),
    ...(provider.termsOfServiceUrl && { terms_of_service_url: provider.termsOfServiceUrl }),
    ...(provider.statusPageUrl && { status_page_url: provider.statusPageUrl }),
  }
}
