import type { ModelAlias, ModelAliases } from './aliases.ts'
import type { Catalog } from './catalog.ts'
import { findModelOrRouter } from './router-models.ts'
import { rankTargets, type SplitChoice, type SplitIds } from './split.ts'

/** What a name in a request stands for, if it is an alias, or a model that has expired. */
export interface NameNotice {
  /** The name in the request, without routing suffixes. */
  name: string
  type: 'alias' | 'model'
  /** The models that serve it. */
  models: readonly string[]
  expires_at: string | null
  replacement: string | null
  is_expired: boolean
}

export interface ResolvedNames {
  /** The first name, as the request has it. */
  requested: string
  models: string[]
  notices: NameNotice[]
  /** The targets that were chosen for the first name; absent if it is not divided. */
  splits?: readonly SplitChoice[]
}

/** An alias whose targets are aliases is followed this far: so many aliases, the first included. */
export const maxAliasDepth = 5
/** Models that expired are replaced so often. */
const maxReplacements = 5

/** Models that one name stands for, and that a request then tries. */
export const maxAliasModels = 20

interface NameContext {
  catalog: Catalog
  aliases: ModelAliases | null
  now: number
  ids: SplitIds
}

/** What is found out while names are followed. */
interface Findings {
  notices: NameNotice[]
  /** Null beyond the first model: what is chosen there is only a fallback. */
  splits: SplitChoice[] | null
}

/**
 * The only place where the names of a request become names of models: aliases, groups, and replacements of expired
 * models. Null if none of them applies, which takes no more than two comparisons without aliases.
 */
export function resolveNames(names: readonly string[], context: NameContext): ResolvedNames | null {
  const { aliases, catalog } = context
  if (aliases === null && catalog.retiring.size === 0) return null
  const notices: NameNotice[] = []
  const splits: SplitChoice[] = []
  const models = new Set<string>()
  for (const name of names) {
    const [base = '', ...suffixes] = name.split(':')
    const findings = { notices, splits: models.size === 0 ? splits : null }
    const resolved = resolveName(context, aliases?.has(name) ? name : base, findings)
    const suffix = suffixes.length > 0 ? `:${suffixes.join(':')}` : ''
    if (!resolved) models.add(name)
    else for (const model of resolved) models.add(model + suffix)
  }
  if (notices.length === 0) return null
  const [requested = ''] = names
  return { requested, models: [...models], notices, ...(splits.length > 0 && { splits }) }
}

/** The models of a name; undefined if it is its own. */
function resolveName(
  context: NameContext,
  name: string,
  { notices, splits }: Findings,
): string[] | undefined {
  const alias = context.aliases?.get(name)
  const models = alias ? listModels(context, alias, splits) : replaceExpired(context, name)
  if (!models) return undefined
  const retiring = context.catalog.retiring.get(name)
  const { expiresAt = null, replacement = null } = alias ?? retiring ?? {}
  notices.push({
    name,
    type: alias ? 'alias' : 'model',
    models,
    expires_at: expiresAt,
    replacement,
    is_expired: hasExpired(context, expiresAt),
  })
  return models
}

function listModels(context: NameContext, alias: ModelAlias, splits: SplitChoice[] | null): string[] {
  const models: string[] = []
  followAlias(context, alias, { models, splits, followed: new Set([alias.name]) })
  return models
}

interface Following {
  models: string[]
  splits: SplitChoice[] | null
  followed: ReadonlySet<string>
}

/** Collects the models of an alias. A name that was followed already stands for the model of that name. */
function followAlias(context: NameContext, alias: ModelAlias, { models, splits, followed }: Following): void {
  for (const target of listTargets(context, alias, splits)) {
    if (models.length === maxAliasModels) return
    const next = followed.has(target) ? undefined : context.aliases?.get(target)
    if (next && followed.size < maxAliasDepth) {
      const isFirst = models.length === 0
      const nested = { models, splits: isFirst ? splits : null, followed: new Set([...followed, target]) }
      followAlias(context, next, nested)
    } else models.push(...(replaceExpired(context, target) ?? [target]))
  }
}

/** What an alias stands for now, in the order in which it is tried. */
function listTargets(
  context: NameContext,
  { name, models, split, expiresAt, replacement }: ModelAlias,
  splits: SplitChoice[] | null,
): readonly string[] {
  if (replacement !== null && hasExpired(context, expiresAt)) return [replacement]
  if (!split) return models
  const ranked = rankTargets(name, split, context.ids)
  splits?.push(ranked.choice)
  return ranked.models
}

/** The replacement of a model after its expiration, as long as the catalog has it. */
function replaceExpired(context: NameContext, name: string): string[] | undefined {
  let current = name
  for (let depth = 0; depth < maxReplacements; depth++) {
    const retiring = context.catalog.retiring.get(current)
    if (!retiring || !hasExpired(context, retiring.expiresAt)) break
    if (!findModelOrRouter(context.catalog, retiring.replacement)) break
    current = retiring.replacement
  }
  return current === name ? undefined : [current]
}

function hasExpired({ now }: NameContext, expiresAt: string | null): boolean {
  return expiresAt !== null && now >= Date.parse(expiresAt)
}
