import { buildCatalog, type Catalog, type CatalogSources } from './catalog/catalog.ts'
import { type Edits, editKey, layEdits } from './catalog/edits.ts'
import { catalogueVersion, type EditRow, readEdits } from './catalog/store.ts'
import type { Gateway } from './gateway.ts'
import { providers } from './providers/all.ts'
import { readSettings, type Settings } from './settings.ts'

/** What the catalogue is made of before operators changed anything at run time. */
export function catalogSources({ config, settings }: Pick<Gateway, 'config' | 'settings'>): CatalogSources {
  return { settings, providers, environment: config.environment }
}

/** The catalogue with the edits over everything else. */
export function compose(
  parts: Pick<Gateway, 'config' | 'settings' | 'vault'>,
  { version, rows }: { version: number; rows: readonly EditRow[] },
): { catalog: Catalog; edits: Edits } {
  const sources = catalogSources(parts)
  const edits = { version, rows, ...layEdits(sources, rows, parts.vault) }
  return { catalog: buildCatalog({ ...sources, settings: edits.declared }), edits }
}

/** Reads headgate.yaml again. */
export function reloadSettings(gateway: Gateway): void {
  adopt(gateway, readSettings(gateway.config), gateway.edits)
}

/** Edits made by other nodes. While the database is away, those known last stay. */
export async function followEdits(gateway: Gateway): Promise<void> {
  const known = gateway.edits
  if ((await catalogueVersion(gateway.db)) === known.version) return
  const read = await readEdits(gateway.db)
  // Otherwise this was overtaken by an edit made here, and looks again soon.
  if (gateway.edits === known) adopt(gateway, gateway.settings, read)
}

/** Edits made here, which may come out of their order. */
export function adoptEdits(gateway: Gateway, read: { version: number; rows: readonly EditRow[] }): void {
  if (read.version > gateway.edits.version) adopt(gateway, gateway.settings, read)
}

function adopt(
  gateway: Gateway,
  settings: Settings,
  read: { version: number; rows: readonly EditRow[] },
): void {
  const before = gateway.edits
  const { catalog, edits } = compose({ config: gateway.config, vault: gateway.vault, settings }, read)
  forgetMoved(gateway, catalog)
  Object.assign(gateway, { settings, catalog, edits })
  // Replies of providers that may promise something else from now on.
  gateway.responseCache.clear()
  tellProblems(gateway, before)
}

/** Whoever asked for patience, or kept failing, was another account or another address. */
function forgetMoved({ catalog: before, routing }: Gateway, { providers: now, models }: Catalog): void {
  const known = new Map(before.providers.map(({ slug, installed }) => [slug, JSON.stringify(installed)]))
  const moved = new Set(
    now
      .filter(({ slug, installed }) => known.get(slug) !== JSON.stringify(installed))
      .map(({ slug }) => slug),
  )
  if (moved.size === 0) return
  for (const { endpoints } of models) {
    for (const { id, provider } of endpoints) if (moved.has(provider.slug)) routing.health.forget(id)
  }
}

/** Each once, on each node. */
export function tellProblems({ log, edits }: Pick<Gateway, 'log' | 'edits'>, before?: Edits): void {
  for (const row of edits.rows) {
    const problem = edits.problems.get(editKey(row))?.message
    if (problem === undefined || problem === before?.problems.get(editKey(row))?.message) continue
    const { kind, name, tag } = row
    log.warn({ kind, name, ...(tag && { tag }), problem }, 'an edit of the catalogue is not in force')
  }
}
