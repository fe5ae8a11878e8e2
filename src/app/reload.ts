import { buildCatalogue, type Catalogue, type CatalogueSources } from '../catalogue/catalogue.ts'
import { applyOverrides, type CatalogueOverrides, formatOverrideKey } from '../catalogue/overrides.ts'
import { type OverrideRow, readCatalogueVersion, readOverrides } from '../catalogue/store.ts'
import { providers } from '../providers/all.ts'
import type { Gateway } from './gateway.ts'
import { readSettings, type Settings } from './settings.ts'

/** What the catalogue is made of before operators changed anything at run time. */
export function buildCatalogueSources({
  config,
  settings,
}: Pick<Gateway, 'config' | 'settings'>): CatalogueSources {
  return { settings, providers, environment: config.environment }
}

/** The catalogue with the edits over everything else. */
export function composeCatalogue(
  parts: Pick<Gateway, 'config' | 'settings' | 'vault'>,
  { version, rows }: { version: number; rows: readonly OverrideRow[] },
): { catalogue: Catalogue; overrides: CatalogueOverrides } {
  const sources = buildCatalogueSources(parts)
  const overrides = { version, rows, ...applyOverrides(sources, rows, parts.vault) }
  return { catalogue: buildCatalogue({ ...sources, settings: overrides.declared }), overrides }
}

/** Reads headgate.yaml again. */
export function reloadSettings(gateway: Gateway): void {
  replaceCatalogue(gateway, readSettings(gateway.config), gateway.overrides)
}

/** Edits made by other nodes. While the database is away, those known last stay. */
export async function pollOverrides(gateway: Gateway): Promise<void> {
  const current = gateway.overrides
  if ((await readCatalogueVersion(gateway.db)) === current.version) return
  const latest = await readOverrides(gateway.db)
  // Otherwise this was overtaken by an edit made here, and looks again soon.
  if (gateway.overrides === current) replaceCatalogue(gateway, gateway.settings, latest)
}

/** Edits made here, which may come out of their order. */
export function installOverrides(
  gateway: Gateway,
  latest: { version: number; rows: readonly OverrideRow[] },
): void {
  if (latest.version > gateway.overrides.version) replaceCatalogue(gateway, gateway.settings, latest)
}

function replaceCatalogue(
  gateway: Gateway,
  settings: Settings,
  latest: { version: number; rows: readonly OverrideRow[] },
): void {
  const before = gateway.overrides
  const { catalogue, overrides } = composeCatalogue(
    { config: gateway.config, vault: gateway.vault, settings },
    latest,
  )
  resetMovedEndpoints(gateway, catalogue)
  Object.assign(gateway, { settings, catalogue, overrides })
  // Replies of providers that may promise something else from now on.
  gateway.responseCache.clear()
  logOverrideProblems(gateway, before)
}

/** Whoever asked for patience, or kept failing, was another account or another address. */
function resetMovedEndpoints(
  { catalogue: before, routing }: Gateway,
  { providers: now, models }: Catalogue,
): void {
  const installedBefore = new Map(
    before.providers.map(({ slug, installation }) => [slug, JSON.stringify(installation)]),
  )
  const moved = new Set(
    now
      .filter(({ slug, installation }) => installedBefore.get(slug) !== JSON.stringify(installation))
      .map(({ slug }) => slug),
  )
  if (moved.size === 0) return
  for (const { endpoints } of models) {
    for (const { id, provider } of endpoints) if (moved.has(provider.slug)) routing.health.forget(id)
  }
}

/** Each once, on each node. */
export function logOverrideProblems(
  { log, overrides }: Pick<Gateway, 'log' | 'overrides'>,
  before?: CatalogueOverrides,
): void {
  for (const row of overrides.rows) {
    const problem = overrides.problems.get(formatOverrideKey(row))?.message
    if (problem === undefined || problem === before?.problems.get(formatOverrideKey(row))?.message) continue
    const { kind, name, tag } = row
    log.warn({ kind, name, ...(tag && { tag }), problem }, 'an edit of the catalogue is not in force')
  }
}
