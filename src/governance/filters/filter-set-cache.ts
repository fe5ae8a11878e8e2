import type { FilterSet } from './filter-set.ts'

/** The policies in use at the same time; the one that was not used for the longest time is dropped. */
const maxSets = 200

/** Compiled filters by the key of their rules. */
export class FilterSetCache {
  readonly #sets = new Map<string, FilterSet>()

  get(key: string): FilterSet | undefined {
    const set = this.#sets.get(key)
    if (!set) return undefined
    this.#sets.delete(key)
    this.#sets.set(key, set)
    return set
  }

  add(key: string, set: FilterSet): FilterSet {
    const [oldest] = this.#sets.keys()
    if (this.#sets.size >= maxSets && oldest !== undefined) this.#sets.delete(oldest)
    this.#sets.set(key, set)
    return set
  }
}
