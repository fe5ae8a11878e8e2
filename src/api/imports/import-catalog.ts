import { isDeepStrictEqual } from 'node:util'
import { listUsableAliases } from '../../catalog/aliases.ts'
import { type Catalog, mergeDeclaredModels } from '../../catalog/catalog.ts'
import { type DeclaredModel, tagOf } from '../../catalog/declared-model.ts'
import { encodeSplit } from '../../catalog/split.ts'
import type { ReasonFallbacks } from '../../formats/schema/fallbacks.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { buildCatalogSources, composeCatalog } from '../../gateway/reload.ts'
import type { RecordEvent } from '../../governance/audit/transaction.ts'
import type { Scope } from '../../identity/permissions/grant.ts'
import type { OpeningSpend } from '../../ledger/opening-spend.ts'
import type { Db } from '../../platform/db/db.ts'
import { createAliasRow } from '../catalog/aliases/create.ts'
import { type NewOverride, writeOverrides } from '../catalog/edits/overrides.ts'
import { newProviderOverride } from '../catalog/edits/provider-override.ts'
import type { CatalogPlan, ItemOutcome, PlannedModel } from './import-plan.ts'

/** An audited transaction of an organization. */
export interface ImportTransaction {
  gateway: Gateway
  tx: Db
  record: RecordEvent
  organizationId: string
  /** Where keys may be imported. */
  scope: Scope
  /** Spend that has changed elsewhere; null while a server may have the meters in memory. */
  openings: OpeningSpend[] | null
}

type Overrides = Awaited<ReturnType<typeof writeOverrides>>

/** An outcome, and the overrides that it takes. */
interface Step {
  outcome: ItemOutcome
  overrides: NewOverride[]
}

/** Overrides to be installed after the commit, null if none changed, and the catalog with them. */
export interface ImportedCatalog {
  outcomes: ItemOutcome[]
  overrides: Overrides | null
  catalog: Catalog
}

/** Creates what the catalog lacks. */
export async function importCatalog(input: ImportTransaction, plan: CatalogPlan): Promise<ImportedCatalog> {
  const { gateway } = input
  const declared = mergeDeclaredModels({
    ...buildCatalogSources(gateway),
    settings: gateway.overrides.declared,
  })
  const findModel = (id: string) => declared.get(id)?.model
  const steps = [
    ...plan.providers.map((provider) => importProvider(gateway, provider)),
    ...plan.known.map(({ name, id }) => existing('model', name, name === id ? null : `is ${id}`)),
    ...plan.models.flatMap((model) => importModel(model, findModel(model.id))),
    ...plan.fallbacks.map(({ model, fallbacks }) => importFallbacks(model, fallbacks, findModel(model))),
  ]
  const changes = steps.flatMap((step) => step.overrides)
  const overrides = changes.length > 0 ? await writeOverrides(input, changes) : null
  const catalog = overrides ? composeCatalog(gateway, overrides).catalog : gateway.catalog
  const outcomes = [
    ...steps.map(({ outcome }) => outcome),
    ...(await importAliases(input, catalog, plan.aliases)),
  ]
  return { outcomes, overrides, catalog }
}

function created(kind: string, name: string, overrides: NewOverride[]): Step {
  return { outcome: { kind, name, outcome: 'created', message: null }, overrides }
}

function existing(kind: string, name: string, message: string | null = null): Step {
  return { outcome: { kind, name, outcome: 'existing', message }, overrides: [] }
}

function importProvider(gateway: Gateway, { slug, fields }: CatalogPlan['providers'][number]): Step {
  const row = gateway.overrides.rows.find(({ kind, name }) => kind === 'provider' && name === slug)
  const isDeclared = gateway.settings.providers.some((provider) => provider.slug === slug)
  if (!row && !isDeclared) return created('provider', slug, [newProviderOverride(gateway, slug, fields)])
  const present = gateway.catalog.providers.find((provider) => provider.slug === slug)?.wildcards ?? []
  const missing = fields.wildcards?.filter((pattern) => !present.includes(pattern)) ?? []
  return existing('provider', slug, missing.length > 0 ? `add ${missing.join(', ')} to its wildcards` : null)
}

function importModel({ id, fields }: PlannedModel, known: DeclaredModel | undefined): Step[] {
  if (!known) {
    const override = {
      name: { kind: 'model' as const, name: id, tag: '' },
      build: () => ({ fields: JSON.stringify(fields), sealed_secrets: null }),
    }
    return [created('model', id, [override])]
  }
  const tags = new Set(known.endpoints.map(tagOf))
  const missing = fields.endpoints.filter((endpoint) => !tags.has(tagOf(endpoint)))
  return [
    existing('model', id),
    ...missing.map((endpoint) => {
      const { provider: _own, variant: _part, ...rest } = endpoint
      const tag = tagOf(endpoint)
      const override = {
        name: { kind: 'endpoint' as const, name: id, tag },
        build: () => ({ fields: JSON.stringify(rest), sealed_secrets: null }),
      }
      return created('endpoint', `${id} ${tag}`, [override])
    }),
  ]
}

function importFallbacks(id: string, fallbacks: ReasonFallbacks, known: DeclaredModel | undefined): Step {
  if (known?.fallbacks) {
    const isSame = isDeepStrictEqual(known.fallbacks, fallbacks)
    return existing('fallbacks', id, isSame ? null : 'the model has other fallbacks, which stay')
  }
  const override: NewOverride = {
    name: { kind: 'model', name: id, tag: '' },
    build: (row) => ({
      fields: JSON.stringify({ ...(row && (JSON.parse(row.fields) as object)), fallbacks }),
      sealed_secrets: null,
    }),
  }
  return created('fallbacks', id, [override])
}

async function importAliases(
  { gateway, tx, record, organizationId }: ImportTransaction,
  catalog: Catalog,
  aliases: CatalogPlan['aliases'],
): Promise<ItemOutcome[]> {
  const place = { organization_id: organizationId, workspace_id: null }
  const rows = await listUsableAliases(tx, place)
  const known = new Map(rows.map((row) => [row.name, row]))
  const outcomes: ItemOutcome[] = []
  for (const { name, models: named, split: planned } of aliases) {
    const models = JSON.stringify(named)
    const split = encodeSplit(planned ?? null)
    const stored = known.get(name)
    const isOther = stored !== undefined && (stored.models !== models || stored.split !== split)
    if (stored === undefined) {
      const settings = { ...place, name, models, split, expires_at: null, replacement: null }
      await createAliasRow({ gateway, catalog, tx, record }, settings)
    }
    outcomes.push({
      kind: 'alias',
      name,
      outcome: stored === undefined ? 'created' : 'existing',
      message: isOther ? 'names other models, which stay' : null,
    })
  }
  return outcomes
}
