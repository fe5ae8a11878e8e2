import { mergeSpans, type Span } from './detector.ts'

/** The matches of one filter in a text, merged where they overlap and found as they are taken. */
export class FilterMatches<Hit> {
  readonly isRedacting: boolean
  readonly mark: (span: Span) => Span
  readonly #toHit: (count: number) => Hit
  readonly #lists: { iterator: Iterator<Span>; next: Span | null }[]
  /** The last span, which may still grow. */
  #last: Span | null = null
  #count = 0

  /** Each list is in order. */
  constructor(
    lists: readonly Iterable<Span>[],
    toHit: (count: number) => Hit,
    isRedacting: boolean,
    mark = (span: Span) => span,
  ) {
    this.isRedacting = isRedacting
    this.mark = mark
    this.#toHit = toHit
    this.#lists = lists.map((list) => {
      const iterator = list[Symbol.iterator]()
      return { iterator, next: iterator.next().value ?? null }
    })
  }

  /** The next matches that begin before this place. */
  *take(end: number): Generator<Span> {
    for (let next = this.#peek(); ; next = this.#peek()) {
      const last = this.#last
      if (next && last && next.start < last.end) {
        this.#last = mergeSpans([last, next])[0] ?? last
        this.#advance(next)
        continue
      }
      if (last && last.start >= end) return
      if (last) {
        this.#count++
        this.#last = null
        yield last
      }
      if (!next || next.start >= end) return
      this.#last = next
      this.#advance(next)
    }
  }

  /** Null if there was none. */
  describeHit(): Hit | null {
    return this.#count === 0 ? null : this.#toHit(this.#count)
  }

  #peek(): Span | null {
    let first: Span | null = null
    for (const { next } of this.#lists) if (next && (!first || isBefore(next, first))) first = next
    return first
  }

  #advance(taken: Span): void {
    const list = this.#lists.find(({ next }) => next === taken)
    if (list) list.next = list.iterator.next().value ?? null
  }
}

function isBefore(a: Span, b: Span): boolean {
  return a.start < b.start || (a.start === b.start && a.end > b.end)
}

/** The matches of several filters in a text, taken section by section. */
export class MatchStream<Hit> {
  readonly #filters: readonly FilterMatches<Hit>[]
  /** The rest of redactions that the last section began. */
  #open: Span[] = []

  constructor(filters: readonly FilterMatches<Hit>[]) {
    this.#filters = filters
  }

  /** Takes the spans to replace in the section that ends here; the label of a redaction is in its first section. */
  takeRedactions(end: number): Span[] {
    const spans = this.#open
    this.#open = []
    for (const filter of this.#filters)
      for (const span of filter.take(end)) if (filter.isRedacting) spans.push(filter.mark(span))
    return mergeSpans(spans).map((span) => {
      if (span.end <= end) return span
      // What is replaced in two sections cannot be restored as one value.
      const { isReversible: _, ...whole } = span
      this.#open.push({ ...whole, start: end, label: '' })
      return { ...whole, end }
    })
  }

  /** Lists the hits of the sections that were taken. */
  listHits(): Hit[] {
    return this.#filters.flatMap((filter) => filter.describeHit() ?? [])
  }
}
