import { RE2JS, RE2Set } from 're2js'
import type { TextPlace } from '../../formats/call/texts.ts'
import { mergeSpans, type Span } from './detector.ts'
import { detectorLabels, detectors } from './detectors.ts'
import { FilterMatches, MatchStream } from './match-stream.ts'
import { findInPlain, mapInPlain, type PlainText, plainCharacters } from './plain-text.ts'
import { createInjectionDetector, defaultThreshold } from './prompt-injection.ts'
import { computeReach, type Reach, splitRules } from './reach.ts'
import type { CustomRule, FilterRules, RuleTraits } from './rules.ts'

/** A filter that matched, without the text it matched. */
export interface FilterHit extends Omit<RuleTraits, 'reversible'>, Pick<TextPlace, 'part' | 'role'> {
  /** The slug of a detector, or the label of a custom filter. */
  rule: string
  /** The label that replaces a match. */
  label: string
  /** Kinds that a detector of several kinds recognized. */
  kinds: string[]
  count: number
  /** Index at which each match begins. */
  starts: number[]
}

export interface FilterResult {
  hits: FilterHit[]
  /** Spans to replace: in order, and without overlaps. */
  redactions: Span[]
}

interface CompiledFilter extends RuleTraits {
  name: string
  label: string
  isUserOnly: boolean
  /** `from`: a match cannot begin before. */
  find: (text: string, from: number, place: TextPlace) => Iterable<Span>
}

/** The filters of a set by how far their matches reach. */
interface SplitFilters {
  bounded: FilterSet
  unbounded: FilterSet
  reach: Reach
}

const defaultLabel = '[REDACTED]'

/** Matches of a custom pattern in one text. What follows the last of them is replaced as one more. */
const maxMatches = 250_000

/** The filters of a policy, compiled once. Custom patterns run on an engine that is linear in the text. */
export class FilterSet {
  readonly #builtins: CompiledFilter[]
  readonly #customs: CompiledFilter[]
  /** Finds which custom patterns match at all, in one pass. */
  readonly #screen: RE2Set | null
  readonly #rules: FilterRules
  #split: SplitFilters | null = null

  constructor(rules: FilterRules) {
    const { builtins, customs, allowedPhrases } = rules
    this.#rules = rules
    this.#builtins = builtins.map(({ slug, scan_scope, threshold, ...traits }) => ({
      ...traits,
      name: slug,
      label: detectorLabels[slug],
      isUserOnly: scan_scope === 'user_only',
      find:
        slug === 'regex-prompt-injection' ? compileInjections(allowedPhrases, threshold) : detectors[slug],
    }))
    this.#customs = customs.map(compileCustom)
    this.#screen = customs.length > 0 ? new RE2Set() : null
    for (const { pattern } of customs) this.#screen?.add(RE2JS.translateRegExp(pattern))
    this.#screen?.compile()
  }

  /** The filters for sections of a long text, and those that must read it at once. */
  splitByReach(): SplitFilters {
    if (this.#split) return this.#split
    const { bounded, unbounded } = splitRules(this.#rules)
    this.#split = {
      bounded: new FilterSet(bounded),
      unbounded: new FilterSet(unbounded),
      reach: computeReach(bounded),
    }
    return this.#split
  }

  /** Finds matches in a text, and the parts of it to replace. The text before `from` is only context. */
  scan(text: string, place: TextPlace, from = 0): FilterResult {
    const plain = plainCharacters(text)
    const hits: FilterHit[] = []
    const redacted: Span[][] = []
    const add = (filter: CompiledFilter, spans: Span[]) => {
      const matches = mergeKinds(spans)
      if (matches.count === 0) return
      hits.push(toHit(filter, matches, place))
      if (filter.action !== 'redact' || !filter.isEnforced) return
      redacted.push(filter.reversible ? matches.merged.map(markReversible) : matches.merged)
    }
    for (const filter of this.#builtins) {
      if (filter.isUserOnly && place.role !== 'user') continue
      add(
        filter,
        cutBefore(
          from,
          findInPlain((visible) => filter.find(visible, 0, place), plain),
        ),
      )
    }
    for (const [filter, spans] of this.#findCustoms(text, plain, from, place))
      add(filter, cutBefore(from, spans))
    return { hits, redactions: mergeSpans(redacted.flat()) }
  }

  /** Scans, like `scan`, a text whose matches may take more memory than the text: they are found one by one. */
  openScan(text: string, place: TextPlace): MatchStream<FilterHit> {
    const plain = plainCharacters(text)
    const streams: FilterStream[] = []
    for (const filter of this.#builtins) {
      if (filter.isUserOnly && place.role !== 'user') continue
      const { merged, kinds } = mergeKinds(findInPlain((visible) => filter.find(visible, 0, place), plain))
      streams.push({ filter, kinds, spans: [merged] })
    }
    const plainMatching = plain.text === text ? [] : this.#listMatching(plain.text)
    const matching = this.#listMatching(text)
    for (const filter of new Set([...matching, ...plainMatching])) {
      const spans: Iterable<Span>[] = []
      if (matching.includes(filter)) spans.push(filter.find(text, 0, place))
      if (plainMatching.includes(filter)) spans.push(mapInPlain(filter.find(plain.text, 0, place), plain))
      streams.push({ filter, kinds: [], spans })
    }
    return new MatchStream(streams.map((stream) => toFilterMatches(stream, place)))
  }

  /** Finds matches in the original text, and in its ordinary characters. */
  #findCustoms(text: string, plain: PlainText, from: number, place: TextPlace): Map<CompiledFilter, Span[]> {
    const found = new Map<CompiledFilter, Span[]>()
    for (const filter of this.#listMatching(text)) found.set(filter, [...filter.find(text, from, place)])
    if (plain.text === text) return found
    const plainFrom = plainCharacters(text.slice(0, from)).text.length
    for (const filter of this.#listMatching(plain.text)) {
      const spans = findInPlain((visible) => filter.find(visible, plainFrom, place), plain)
      found.set(filter, [...(found.get(filter) ?? []), ...spans])
    }
    return found
  }

  /** The custom filters that match at all. */
  #listMatching(text: string): CompiledFilter[] {
    if (!this.#screen) return []
    const matching = new Set(this.#screen.match(text))
    return this.#customs.filter((_, index) => matching.has(index))
  }
}

/** The matches of a filter, in lists that are in order each. */
interface FilterStream {
  filter: CompiledFilter
  kinds: string[]
  spans: Iterable<Span>[]
}

function toFilterMatches({ filter, kinds, spans }: FilterStream, place: TextPlace): FilterMatches<FilterHit> {
  return new FilterMatches(
    spans,
    (count) => toHit(filter, { merged: [], kinds, count }, place),
    filter.action === 'redact' && filter.isEnforced,
    filter.reversible ? markReversible : undefined,
  )
}

function markReversible(span: Span): Span {
  return { ...span, isReversible: true }
}

function cutBefore(from: number, spans: Span[]): Span[] {
  if (from === 0) return spans
  return spans.flatMap((span) => (span.end > from ? [{ ...span, start: Math.max(span.start, from) }] : []))
}

interface Matches {
  merged: Span[]
  kinds: string[]
  count: number
}

function mergeKinds(spans: Span[]): Matches {
  const merged = mergeSpans(spans)
  return { merged, kinds: [...new Set(spans.flatMap(({ kind }) => kind ?? []))], count: merged.length }
}

function toHit(
  { name, action, isEnforced, layers, label }: CompiledFilter,
  { merged, kinds, count }: Matches,
  { part, role }: TextPlace,
): FilterHit {
  const starts = merged.map(({ start }) => start)
  return { rule: name, action, isEnforced, layers, label, kinds, count, starts, part, role }
}

type Find = CompiledFilter['find']

function compileInjections(allowedPhrases: readonly string[] = [], threshold = defaultThreshold): Find {
  const find = createInjectionDetector(allowedPhrases)
  return (text, _from, place) => find(text, thresholdAt(place, threshold))
}

/**
 * Tools and documents have no orders to give, so a lower score is enough. What the application tells the model is full of
 * orders, so it takes a higher one.
 */
function thresholdAt({ part, role }: TextPlace, threshold: number): number {
  if (part === 'tool-result' || part === 'file') return untrustedShare * threshold
  if (role === 'system' || role === 'developer') return (1 + threshold) / 2
  return threshold
}

const untrustedShare = 0.6

/** The name of a custom filter in records. */
export function nameCustomRule({ label, pattern }: CustomRule): string {
  return label ?? pattern.slice(0, 100)
}

function compileCustom(rule: CustomRule): CompiledFilter {
  const { pattern, label, ...traits } = rule
  const program = RE2JS.compile(RE2JS.translateRegExp(pattern))
  const replacement = label ?? defaultLabel
  const find = function* (text: string, from: number): Generator<Span> {
    let count = 0
    const matcher = program.matcher(text)
    for (let isFound = matcher.find(from); isFound; isFound = matcher.find()) {
      const [start, end] = [matcher.start(), matcher.end()]
      if (end > start) {
        count++
        yield { start, end, label: replacement }
      }
      if (count < maxMatches) continue
      yield { start: end, end: text.length, label: replacement }
      return
    }
  }
  return { ...traits, name: nameCustomRule(rule), label: replacement, isUserOnly: false, find }
}
