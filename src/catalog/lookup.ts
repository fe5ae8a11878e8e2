import { dynamicVariants, type TaskName, type TaskTraits, tasks } from '../formats/vocabulary.ts'
import { compareVersions, parseRelease } from './family.ts'
import type { Model } from './model.ts'
import type { Wildcards } from './wildcards.ts'

export interface ModelIndex {
  /** Ids, aliases and canonical slugs. */
  readonly bySlug: ReadonlyMap<string, Model>
  /** `~author/family-latest`. */
  readonly latest: ReadonlyMap<string, Model>
  /** Models with an expiration date and a replacement, by every name of theirs. */
  readonly retiring: ReadonlyMap<string, Retirement>
  /** Models that no source declares. */
  readonly wildcards: Pick<Wildcards, 'find' | 'listAll'>
}

/** When requests for a model move to another one. */
export interface Retirement {
  expiresAt: string
  replacement: string
}

export interface ResolvedModel {
  model: Model
  /** The `~author/family-latest` that led here. */
  latest: string | null
  /** Suffixes in the request that are not part of the model's id, such as `nitro`. */
  variants: string[]
}

/** Resolves a name in a request: exact ids, aliases and variants, no fuzzy matching. */
export function findModel(index: ModelIndex, slug: string): ResolvedModel | undefined {
  const exact = index.bySlug.get(slug)
  if (exact) return { model: exact, latest: null, variants: [] }
  const [name = '', ...suffixes] = slug.split(':')
  const variants = suffixes.filter((suffix) => dynamicVariants.has(suffix))
  const rest = suffixes.filter((suffix) => !dynamicVariants.has(suffix))
  const newest = rest.length === 0 ? index.latest.get(name) : undefined
  if (newest) return { model: newest, latest: name, variants }
  const model = index.bySlug.get([name, ...rest].join(':')) ?? findVariantOfAlias(index, name, rest)
  if (model) return { model, latest: null, variants }
  return (
    findReasoningVariant(index, name, suffixes) ?? findUndeclared(index, [name, ...rest].join(':'), variants)
  )
}

/** A colon that is no routing suffix is a part of the provider's name. */
function findUndeclared(
  { wildcards }: ModelIndex,
  name: string,
  variants: string[],
): ResolvedModel | undefined {
  const model = wildcards.find(name)
  return model && { model, latest: null, variants }
}

/** The model of that name, if one of its endpoints serves the task. */
export function findModelForTask(index: ModelIndex, slug: string, task: TaskName): Model | undefined {
  const model = findModel(index, slug)?.model
  const { outputs, wireFormats }: TaskTraits = tasks[task]
  const hasOutput = model?.output_modalities.some((modality) => outputs.includes(modality))
  const isServed = model?.endpoints.some((endpoint) =>
    endpoint.wireFormats.some((name) => wireFormats.includes(name)),
  )
  return hasOutput && isServed ? model : undefined
}

const reasoningSuffix = 'thinking'

/** `:thinking` selects the reasoning of a model that supports it, unless a model with that id exists. */
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

/** An alias of a model applies to its variants too. */
function findVariantOfAlias(index: ModelIndex, name: string, suffixes: string[]): Model | undefined {
  const base = index.bySlug.get(name)
  return base && index.bySlug.get([base.id, ...suffixes].join(':'))
}

/** Ids take precedence over aliases, and aliases over canonical slugs; otherwise the first model wins. */
export function indexModels(
  models: readonly Model[],
  wildcards: ModelIndex['wildcards'] = { find: () => undefined, listAll: () => models },
): ModelIndex {
  const bySlug = new Map<string, Model>()
  const addIfAbsent = (name: string, model: Model) => {
    if (!bySlug.has(name)) bySlug.set(name, model)
  }
  for (const model of models) addIfAbsent(model.id, model)
  for (const model of models) for (const alias of model.aliases) addIfAbsent(alias, model)
  // A canonical slug that is not an id would have to choose among variants.
  for (const model of models) if (!model.id.includes(':')) addIfAbsent(model.canonical_slug, model)
  return { bySlug, latest: indexLatest(models), retiring: indexRetiring(bySlug), wildcards }
}

function indexRetiring(bySlug: ReadonlyMap<string, Model>): Map<string, Retirement> {
  const retiring = new Map<string, Retirement>()
  for (const [name, { expiration_date, replacement }] of bySlug) {
    if (expiration_date === null || replacement === null) continue
    retiring.set(name, { expiresAt: `${expiration_date}T00:00:00.000Z`, replacement })
  }
  return retiring
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

/** The permanent name of a model. One that is gone from the catalog keeps the name it was used by. */
export function permaslugOf({ bySlug }: Pick<ModelIndex, 'bySlug'>, model: string): string {
  return bySlug.get(model)?.canonical_slug ?? model
}
