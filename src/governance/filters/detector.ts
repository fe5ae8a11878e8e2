/** A part of a text that a detector recognized. */
export interface Span {
  start: number
  end: number
  /** The text that replaces it. */
  label: string
  /** Kind of match, if the detector knows several. */
  kind?: string
  /** A placeholder may replace it, from which it is restored in the reply. */
  isReversible?: boolean
}

/** Finds one kind of sensitive text, in time linear in its length. Spans may overlap. */
export type Detector = (text: string) => Span[]

/** The spans of all matches of a pattern that `accepts` confirms. */
export function findMatches(
  text: string,
  pattern: RegExp,
  label: string,
  accepts: (match: RegExpExecArray) => boolean = () => true,
): Span[] {
  const spans: Span[] = []
  pattern.lastIndex = 0
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    if (accepts(match)) spans.push({ start: match.index, end: match.index + match[0].length, label })
    else pattern.lastIndex = match.index + skipLength(match[0])
  }
  return spans
}

/** Length to skip after a rejected match: the search continues at its next word, not behind its end. */
function skipLength(text: string): number {
  const next = /[^\p{L}\p{N}]/u.exec(text)
  return next ? next.index + 1 : Math.max(1, text.length)
}

/**
 * Sorts spans and joins overlapping ones: the label of the longer one remains. The result is reversible only if all of
 * them are.
 */
export function mergeSpans(spans: readonly Span[]): Span[] {
  const merged: Span[] = []
  for (const span of spans.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = merged.at(-1)
    if (!last || span.start >= last.end) merged.push({ ...span })
    else {
      const isMixed = last.isReversible !== span.isReversible
      if (span.end > last.end) {
        const longer = span.end - span.start > last.end - last.start ? span : last
        Object.assign(last, { ...longer, start: last.start, end: span.end })
      }
      if (isMixed) last.isReversible = false
    }
  }
  return merged
}

/** The spans that overlap none of the ranges, which are in order. */
export function outside(spans: readonly Span[], ranges: readonly { start: number; end: number }[]): Span[] {
  let next = 0
  return spans
    .toSorted((a, b) => a.start - b.start)
    .filter(({ start, end }) => {
      while ((ranges[next]?.end ?? Number.POSITIVE_INFINITY) <= start) next++
      return (ranges[next]?.start ?? Number.POSITIVE_INFINITY) >= end
    })
}

/** The span in a text whose characters are elsewhere. */
export function mapSpan(span: Span, offsetOf: (index: number) => number): Span {
  return { ...span, start: offsetOf(span.start), end: offsetOf(span.end - 1) + 1 }
}
