import { applyTextEdits, readJsonText } from '../call/json-text.ts'
import type { TextPlace } from '../call/texts.ts'
import { mergeSpans, type Span } from './detector.ts'
import type { FilterHit, FilterSet } from './filter-set.ts'
import { findCertainEnd } from './reach.ts'
import { findContext } from './text-context.ts'

/** What the filters find in a text, without the places, and the text as they redact it. */
export interface RedactedText {
  hits: FilterHit[]
  /** Null if it is unchanged. */
  text: string | null
}

/** A longer text is read in sections of this length, so that the memory of its matches is that of a section. */
const sectionLength = 32 * 1024

/** In a JSON text the strings are read and replaced without their escapes: it stays valid. */
export function redactText(filters: FilterSet, text: string, place: TextPlace): RedactedText {
  const json = readJsonText(text)
  if (!json && text.length > sectionLength) return redactSections(filters, text, place)
  const { hits, redactions } = filters.scan(json?.readable ?? text, place)
  const edit = () => json?.apply(redactions) ?? applyTextEdits(text, redactions)
  return { hits: hits.map(withoutStarts), text: redactions.length > 0 ? edit() : null }
}

function withoutStarts(hit: FilterHit): FilterHit {
  return { ...hit, starts: [] }
}

function redactSections(filters: FilterSet, text: string, place: TextPlace): RedactedText {
  const { bounded, unbounded, reach } = filters.splitByReach()
  const whole = unbounded.scan(text, place)
  const hits = new HitSums()
  hits.add(whole.hits)
  const redacted: string[] = []
  let isChanged = false
  for (const { start, end, found, edits } of readSections(bounded, reach, text, place)) {
    hits.add(found)
    const wholeEdits = takeBetween(whole.redactions, start, end)
    const merged = wholeEdits.length === 0 ? edits : mergeSpans([...edits, ...wholeEdits])
    isChanged ||= merged.length > 0
    redacted.push(applyTextEdits(text.slice(start, end), merged.map(moveBy(-start))))
  }
  return { hits: hits.list(), text: isChanged ? redacted.join('') : null }
}

interface Section {
  start: number
  end: number
  found: FilterHit[]
  edits: Span[]
}

/** What the filters find in each section: a match extends over no two of them. */
function* readSections(
  filters: FilterSet,
  reach: Parameters<typeof findCertainEnd>[1],
  text: string,
  place: TextPlace,
): Generator<Section> {
  let [start, contextStart, length] = [0, 0, sectionLength]
  while (start < text.length) {
    const isLast = start + length >= text.length
    const section = text.slice(contextStart, start + length)
    const from = start - contextStart
    const certain = isLast ? section.length : findCertainEnd(section, reach)
    const { hits, redactions } = filters.scan(section, place, from)
    const open = redactions.find((span) => span.start < certain && span.end > certain)
    const end = open?.start ?? certain
    if (end <= from) {
      // Nothing but invisible characters, or one long match.
      length *= 2
      continue
    }
    const edits = redactions.filter((span) => span.end <= end)
    yield {
      start,
      end: contextStart + end,
      found: selectHits(hits, end),
      edits: edits.map(moveBy(contextStart)),
    }
    start = contextStart + end
    contextStart += findContext(section, end, edits.at(-1)?.end ?? 0)
    length = sectionLength
  }
}

function moveBy(distance: number): (span: Span) => Span {
  return (span) => ({ ...span, start: span.start + distance, end: span.end + distance })
}

/** The parts of the spans within this range; the label is in the first part. */
function takeBetween(spans: readonly Span[], start: number, end: number): Span[] {
  return spans
    .filter((span) => span.start < end && span.end > start)
    .map((span) => ({
      ...span,
      start: Math.max(span.start, start),
      end: Math.min(span.end, end),
      label: span.start < start ? '' : span.label,
    }))
}

/** The hits before this place. */
export function selectHits(hits: readonly FilterHit[], end: number): FilterHit[] {
  return hits.flatMap((hit) => {
    const starts = hit.starts.filter((start) => start < end)
    return starts.length > 0 ? [{ ...hit, starts, count: starts.length }] : []
  })
}

/** The hits of the sections of a text, as if it had been read at once. */
class HitSums {
  readonly #sums = new Map<string, FilterHit>()

  add(hits: readonly FilterHit[]): void {
    for (const hit of hits) {
      const { starts: _starts, count, kinds, ...filter } = hit
      const key = JSON.stringify(filter)
      const sum = this.#sums.get(key) ?? { ...withoutStarts(hit), count: 0 }
      this.#sums.set(key, { ...sum, count: sum.count + count, kinds: [...new Set([...sum.kinds, ...kinds])] })
    }
  }

  list(): FilterHit[] {
    return [...this.#sums.values()]
  }
}
