import type { Catalog } from '../../catalog.ts'
import { findModel } from '../../lookup.ts'
import type { Model } from '../../model.ts'
import type { PublishedModel } from './entry.ts'

export interface ModelMatch {
  model: Model
  /** 0 is the most reliable. */
  level: number
}

/** Finds models of the catalog by the names that benchmarks have for them. */
export class ModelMatcher {
  readonly #catalog: Catalog
  readonly #byName = new Map<string, Set<Model>>()
  /** Set by the operator: a name of the source, and the model it means. */
  readonly #chosen: ReadonlyMap<string, Model>

  constructor(catalog: Catalog, chosen: ReadonlyMap<string, Model>) {
    this.#catalog = catalog
    this.#chosen = chosen
    for (const model of catalog.models) {
      // A variant shares the canonical slug of its model.
      if (model.id.includes(':')) continue
      for (const name of [model.id.slice(model.id.indexOf('/') + 1), model.name.replace(/^[^:]*: /, '')])
        this.#add(toKey(splitWords(name)), model)
    }
  }

  #add(key: string, model: Model): void {
    this.#byName.set(key, (this.#byName.get(key) ?? new Set()).add(model))
  }

  find({ displayName, names, author }: PublishedModel): ModelMatch | null {
    const all = [...names, displayName]
    for (const name of all) {
      const model = this.#chosen.get(name) ?? findModel(this.#catalog, name)?.model
      if (model) return { model, level: 0 }
    }
    for (const [index, simplify] of simplifications.entries()) {
      for (const name of all) {
        const model = this.#findByWords(simplify(splitWords(name.slice(name.indexOf('/') + 1))), author)
        if (model) return { model, level: index + 1 }
      }
    }
    return null
  }

  /** Null if several models have the name and none of them is of the author. */
  #findByWords(words: readonly string[], author: string | null): Model | null {
    const models = [...(this.#byName.get(toKey(words)) ?? [])]
    const [only, another] = models
    if (only && !another) return only
    const byAuthor = models.filter(
      (model) => toKey(splitWords(model.author)) === toKey(splitWords(author ?? '')),
    )
    return byAuthor.length === 1 ? (byAuthor[0] ?? null) : null
  }
}

/** Sources write the parts of a name in different orders: `claude-4.5-sonnet`, `claude-sonnet-4-5`. */
function splitWords(name: string): string[] {
  return name.toLowerCase().match(/[a-z]+|\d+/g) ?? []
}

function toKey(words: readonly string[]): string {
  return words.toSorted().join(' ')
}

/** Some sources list each setting of a model as a model of its own. */
const settingWords = new Set(
  'reasoning thinking nonreasoning non adaptive effort minimal low medium high xhigh max preview latest'.split(
    ' ',
  ),
)

/** Tried in turn: the name itself, without the date of a release, and without settings. */
const simplifications: ((words: readonly string[]) => readonly string[])[] = [
  (words) => words,
  dropDate,
  (words) => dropDate(words.filter((word) => !settingWords.has(word))),
]

function dropDate(words: readonly string[]): readonly string[] {
  return words.filter((word) => !/^20\d{6}$/.test(word))
}
