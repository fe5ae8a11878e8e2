import { compareVersions, releaseOf } from './family.ts'
import type { Model } from './model.ts'
import { dynamicVariants } from './vocabulary.ts'

export interface Names {
  /** Ids, aliases and canonical slugs. */
  readonly bySlug: ReadonlyMap<string, Model>
  /** `~author/family-latest`. */
  readonly latest: ReadonlyMap<string, Model>
}

export interface Found {
  model: Model
  /** The `~author/family-latest` that led here. */
  latest: string | null
  /** Suffixes of the request that are no part of the model's id, such as `nitro`. */
  variants: string[]
}

/** What a name in a request stands for. Only what is known: nothing is guessed. */
export function findModel(names: Names, slug: string): Found | undefined {
  const exact = names.bySlug.get(slug)
  if (exact) return { model: exact, latest: null, variants: [] }
  const [name = '', ...suffixes] = slug.split(':')
  const variants = suffixes.filter((suffix) => dynamicVariants.has(suffix))
  const rest = suffixes.filter((suffix) => !dynamicVariants.has(suffix))
  const newest = rest.length === 0 ? names.latest.get(name) : undefined
  if (newest) return { model: newest, latest: name, variants }
  const model = names.bySlug.get([name, ...rest].join(':')) ?? variantOfAlias(names, name, rest)
  return model ? { model, latest: null, variants } : findThinking(names, name, suffixes)
}

const thinking = 'thinking'

/** A model that can think is its own variant for that, unless there is another. */
function findThinking(names: Names, name: string, suffixes: string[]): Found | undefined {
  if (!suffixes.includes(thinking)) return undefined
  const found = findModel(names, [name, ...suffixes.filter((suffix) => suffix !== thinking)].join(':'))
  if (!found?.model.reasoning) return undefined
  return { ...found, model: { ...found.model, thinks: true }, variants: [...found.variants, thinking] }
}

/** An alias of a model is an alias of its variants too. */
function variantOfAlias(names: Names, name: string, suffixes: string[]): Model | undefined {
  const base = names.bySlug.get(name)
  return base && names.bySlug.get([base.id, ...suffixes].join(':'))
}

/** An id is never hidden by another model's alias, nor an alias by a canonical slug; the first to claim a name has it. */
export function indexNames(models: readonly Model[]): Names {
  const bySlug = new Map<string, Model>()
  const claim = (name: string, model: Model) => {
    if (!bySlug.has(name)) bySlug.set(name, model)
  }
  for (const model of models) claim(model.id, model)
  for (const model of models) for (const alias of model.aliases) claim(alias, model)
  // A canonical slug without a model of its own would choose among variants.
  for (const model of models) if (!model.id.includes(':')) claim(model.canonical_slug, model)
  return { bySlug, latest: newestOfEachFamily(models) }
}

function newestOfEachFamily(models: readonly Model[]): Map<string, Model> {
  const newest = new Map<string, { model: Model; version: number[] }>()
  for (const model of models) {
    const release = model.id.includes(':') ? undefined : releaseOf(model.id.slice(model.author.length + 1))
    if (!release) continue
    const name = `~${model.author}/${release.family}-latest`
    const held = newest.get(name)
    const order =
      held && (compareVersions(release.version, held.version) || model.created - held.model.created)
    if (order === undefined || order > 0) newest.set(name, { model, version: release.version })
  }
  return new Map([...newest].map(([name, { model }]) => [name, model]))
}
