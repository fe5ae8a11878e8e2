import type { ModelAlias, ModelAliases } from './aliases.ts'
import type { Catalog } from './catalog.ts'
import { findModelOrRouter } from './router-models.ts'

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
  models: string[]
  notices: NameNotice[]
}

/** An alias whose targets are aliases is followed this far. */
const maxDepth = 5

/** Models that one name stands for, and that a request then tries. */
export const maxAliasModels = 20

interface NameContext {
  catalog: Catalog
  aliases: ModelAliases | null
  now: number
}

/**
 * The only place where the names of a request become names of models: aliases, groups, and replacements of expired
 * models. Null if none of them applies, which takes no more than two comparisons without aliases.
 */
export function resolveNames(names: readonly string[], context: NameContext): ResolvedNames | null {
  const { aliases, catalog } = context
  if (aliases === null && catalog.retiring.size === 0) return null
  const notices: NameNotice[] = []
  const models = new Set<string>()
  for (const name of names) {
    const [base = '', ...suffixes] = name.split(':')
    const resolved = resolveName(context, aliases?.has(name) ? name : base, notices)
    const suffix = suffixes.length > 0 ? `:${suffixes.join(':')}` : ''
    if (!resolved) models.add(name)
    else for (const model of resolved.slice(0, maxAliasModels)) models.add(model + suffix)
  }
  return notices.length > 0 ? { models: [...models], notices } : null
}

/** The models of a name; undefined if it is its own. */
function resolveName(context: NameContext, name: string, notices: NameNotice[]): string[] | undefined {
  const alias = context.aliases?.get(name)
  const models = alias ? followAlias(context, alias, new Set([name])) : replaceExpired(context, name)
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

/** A name that was followed already stands for the model of that name. */
function followAlias(context: NameContext, alias: ModelAlias, followed: ReadonlySet<string>): string[] {
  return listTargets(context, alias).flatMap((target) => {
    const next = followed.has(target) ? undefined : context.aliases?.get(target)
    if (next && followed.size < maxDepth) return followAlias(context, next, new Set([...followed, target]))
    return replaceExpired(context, target) ?? [target]
  })
}

function listTargets(
  context: NameContext,
  { models, expiresAt, replacement }: ModelAlias,
): readonly string[] {
  return replacement !== null && hasExpired(context, expiresAt) ? [replacement] : models
}

/** The replacement of a model after its expiration, as long as the catalog has it. */
function replaceExpired(context: NameContext, name: string): string[] | undefined {
  let current = name
  for (let depth = 0; depth < maxDepth; depth++) {
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
