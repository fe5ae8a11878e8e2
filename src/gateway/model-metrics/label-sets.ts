/** What labels beyond the maximum are counted as. */
export const otherLabel = 'other'

/** Sets of labels, on average, for each distinct value. */
const setsPerValue = 4

/** The distinct values of each label, shared by all series, so that all of them name the same ones. */
export class LabelValues {
  max = 500
  readonly #known = new Map<string, Set<string>>()

  /** The value, or `other` if there are too many. */
  bound(name: string, value: string): string {
    let values = this.#known.get(name)
    if (!values) {
      values = new Set()
      this.#known.set(name, values)
    }
    if (values.has(value)) return value
    if (values.size >= this.max) return otherLabel
    values.add(value)
    return value
  }
}

export type Labels = Readonly<Record<string, string>>

/** The counts of each set of labels. Their number is bounded, whatever clients send. */
export class LabelSets<L extends Labels, C> {
  readonly #values: LabelValues
  readonly #collapsed: readonly (keyof L & string)[]
  readonly #create: (labels: L) => C
  readonly #counts = new Map<string, C>()

  /** `collapsed`: the labels that become `other` if there are too many sets. The rest have few values. */
  constructor(values: LabelValues, collapsed: readonly (keyof L & string)[], create: (labels: L) => C) {
    this.#values = values
    this.#collapsed = collapsed
    this.#create = create
  }

  get all(): Iterable<C> {
    return this.#counts.values()
  }

  open(labels: L): C {
    const bounded: L = Object.fromEntries(
      Object.entries(labels).map(([name, value]) => [name, this.#values.bound(name, value)]),
    ) as L
    const found = this.#counts.get(keyOf(bounded))
    if (found !== undefined) return found
    const isFull = this.#counts.size >= this.#values.max * setsPerValue
    return this.#add(isFull ? this.#collapse(bounded) : bounded)
  }

  #collapse(labels: L): L {
    const others = this.#collapsed.map((name) => [name, otherLabel])
    return { ...labels, ...Object.fromEntries(others) }
  }

  #add(labels: L): C {
    const key = keyOf(labels)
    const known = this.#counts.get(key)
    if (known !== undefined) return known
    const counts = this.#create(labels)
    this.#counts.set(key, counts)
    return counts
  }
}

function keyOf(labels: Labels): string {
  return Object.values(labels).join('\n')
}
