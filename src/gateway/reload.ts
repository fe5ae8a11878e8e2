import { buildCatalog, type Catalog, type CatalogSources } from '../catalog/catalog.ts'
import { findModelForTask } from '../catalog/lookup.ts'
import { applyOverrides, type CatalogOverrides, formatOverrideKey } from '../catalog/overrides.ts'
import { providers } from '../catalog/providers/all.ts'
import { type OverrideRow, readCatalogVersion, readOverrides } from '../catalog/store.ts'
import { ConfigError } from '../config.ts'
import type { Gateway } from './gateway.ts'
import { applyLogLevels } from './logger.ts'
import { readSettings, type Settings } from './settings.ts'

/** The sources of the catalog without its overrides. */
export function buildCatalogSources({
  config,
  settings,
}: Pick<Gateway, 'config' | 'settings'>): CatalogSources {
  const { environment } = config
  return { settings, providers, environment, disabledRouters: settings.routers.disabled }
}

/** The catalog with the overrides applied last. */
export function composeCatalog(
  parts: Pick<Gateway, 'config' | 'settings' | 'vault' | 'discovered'>,
  { version, rows }: { version: number; rows: readonly OverrideRow[] },
): { catalog: Catalog; overrides: CatalogOverrides } {
  const sources = buildCatalogSources(parts)
  const overrides = { version, rows, ...applyOverrides(sources, rows, parts.vault) }
  return {
    catalog: buildCatalog({ ...sources, settings: overrides.declared, lists: parts.discovered.lists }),
    overrides,
  }
}

/** Reloads headgate.yaml, with the variables as they are now. */
export function reloadSettings(gateway: Gateway, environment = gateway.config.environment): void {
  const config = { ...gateway.config, environment }
  const settings = readSettings(config)
  assertModerationModel({ config, settings })
  applyLogLevels(gateway.log, config, settings)
  replaceCatalog(gateway, settings, gateway.overrides, config)
}

/** Checked without overrides: one that removes the model later must not prevent a start. */
export function assertModerationModel(parts: Pick<Gateway, 'config' | 'settings'>): void {
  const { model } = parts.settings.moderation
  if (model === null) return
  const catalog = buildCatalog(buildCatalogSources(parts))
  if (findModelForTask(catalog, model, 'moderations')) return
  throw new ConfigError(
    `moderation.model: "${model}" is not a model with an endpoint of the wire format moderations. Declare one in \`models\`, or name another.`,
  )
}

/** Loads overrides written by other nodes. While the database is unavailable, the last known ones remain. */
export async function pollOverrides(gateway: Gateway, knownVersion?: number): Promise<void> {
  const current = gateway.overrides
  if ((knownVersion ?? (await readCatalogVersion(gateway.db))) === current.version) return
  const latest = await readOverrides(gateway.db)
  // Otherwise an override written by this node is newer, and the next poll compares again.
  if (gateway.overrides === current) replaceCatalog(gateway, gateway.settings, latest)
}

/** Loads lists of models that other nodes have read, and builds the catalog with them. */
export async function pollDiscoveredModels(gateway: Gateway, knownVersion?: number): Promise<void> {
  if (await gateway.discovered.poll(gateway.db, knownVersion))
    replaceCatalog(gateway, gateway.settings, gateway.overrides)
}

/** Overrides written by this node; concurrent writes may finish out of order. */
export function installOverrides(
  gateway: Gateway,
  latest: { version: number; rows: readonly OverrideRow[] },
): void {
  if (latest.version > gateway.overrides.version) replaceCatalog(gateway, gateway.settings, latest)
}

function replaceCatalog(
  gateway: Gateway,
  settings: Settings,
  latest: { version: number; rows: readonly OverrideRow[] },
  config = gateway.config,
): void {
  const { overrides: before, vault, discovered } = gateway
  const { catalog, overrides } = composeCatalog({ config, vault, settings, discovered }, latest)
  resetMovedEndpoints(gateway, catalog)
  Object.assign(gateway, { config, settings, catalog, overrides })
  gateway.metrics.models.configure(settings.metrics)
  // Cached replies may come from providers whose data policy has changed.
  gateway.responseCache.clear()
  logOverrideProblems(gateway, before)
}

/** Cooldowns and failures of a provider do not apply to its new account or address. */
function resetMovedEndpoints(
  { catalog: before, routing }: Gateway,
  { providers: now, models }: Catalog,
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

/** Logs each problem once per node. */
export function logOverrideProblems(
  { log, overrides }: Pick<Gateway, 'log' | 'overrides'>,
  before?: CatalogOverrides,
): void {
  for (const row of overrides.rows) {
    const problem = overrides.problems.get(formatOverrideKey(row))?.message
    if (problem === undefined || problem === before?.problems.get(formatOverrideKey(row))?.message) continue
    const { kind, name, tag } = row
    log.warn({ kind, name, ...(tag && { tag }), problem }, 'catalog override ignored')
  }
}
