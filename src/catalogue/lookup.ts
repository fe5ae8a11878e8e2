import { compareVersions, parseRelease } from './family.ts'
import type { Model } from './model.ts'
import { dynamicVariants } from './vocabulary.ts'

export interface ModelIndex {
  /** Ids, aliases and canonical slugs. */
  readonly bySlug: ReadonlyMap<string, Model>
  /** `~author/family-latest`. */
  readonly latest: ReadonlyMap<string, Model>
}

export interface ResolvedModel {
  model: Model
  /** The `~author/family-latest` that led here. */
  latest: string | null
  /** Suffixes of the request that are no part of the model's id, such as `nitro`. */
  variants: string[]
}

/** What a name in a request stands for. Only what is known: nothing is guessed. */
export function findModel(index: ModelIndex, slug: string): ResolvedModel | undefined {
  const exact = index.bySlug.get(slug)
  if (exact) return { model: exact, latest: null, variants: [] }
  const [name = '', ...suffixes] = slug.split(':')
  const variants = suffixes.filter((suffix) => dynamicVariants.has(suffix))
  const rest = suffixes.filter((suffix) => !dynamicVariants.has(suffix))
  const newest = rest.length === 0 ? index.latest.get(name) : undefined
  if (newest) return { model: newest, latest: name, variants }
  const model = index.bySlug.get([name, ...rest].join(':')) ?? findVariantOfAlias(index, name, rest)
  return model ? { model, latest: null, variants } : findReasoningVariant(index, name, suffixes)
}

const reasoningSuffix = 'thinking'

/** A model that can think is its own variant for that, unless there is another. */
function findReasoningVariant(
  index: ModelIndex,
  name: string,
  suffixes: string[],
): ResolvedModel | undefined {
  if (!suffixes.includes(reasoningSuffix)) return undefined
  const resolved = findModel(
    index,
    [name, ...suffixes.filter((suffix) => suffix !== reasoningSuffix)].join(':'),
  )
  if (!resolved?.model.reasoning) return undefined
  return {
    ...resolved,
    model: { ...resolved.model, reasons_by_default: true },
    variants: [...resolved.variants, reasoningSuffix],
  }
}

/** An alias of a model is an alias of its variants too. */
function findVariantOfAlias(index: ModelIndex, name: string, suffixes: string[]): Model | undefined {
  const base = index.bySlug.get(name)
  return base && index.bySlug.get([base.id, ...suffixes].join(':'))
}

/** An id is never hidden by another model's alias, nor an alias by a canonical slug; the first to claim a name has it. */
export function indexModels(models: readonly Model[]): ModelIndex {
  const bySlug = new Map<string, Model>()
  const claim = (name: string, model: Model) => {
    if (!bySlug.has(name)) bySlug.set(name, model)
  }
  for (const model of models) claim(model.id, model)
  for (const model of models) for (const alias of model.aliases) claim(alias, model)
  // A canonical slug without a model of its own would choose among variants.
  for (const model of models) if (!model.id.includes(':')) claim(model.canonical_slug, model)
  return { bySlug, latest: indexLatest(models) }
}

function indexLatest(models: readonly Model[]): Map<string, Model> {
  const newest = new Map<string, { model: Model; version: number[] }>()
  for (const model of models) {
    const release = model.id.includes(':') ? undefined : parseRelease(model.id.slice(model.author.length + 1))
    if (!release) continue
    const name = `~${model.author}/${release.family}-latest`
    const current = newest.get(name)
    const order =
      current && (compareVersions(release.version, current.version) || model.created - current.model.created)
    if (order === undefined || order > 0) newest.set(name, { model, version: release.version })
  }
  return new Map([...newest].map(([name, { model }]) => [name, model]))
}
