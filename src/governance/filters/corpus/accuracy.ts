import { mergeSpans, type Span } from '../detector.ts'
import { type DetectorSlug, detectorSlugs, detectors } from '../detectors.ts'
import { findInPlain, plainCharacters } from '../plain-text.ts'
import type { Mark, Passage } from './corpus.ts'

export interface Accuracy {
  /** The share of matches that are right. */
  precision: number
  /** The share of marks that are found. */
  recall: number
  marks: number
  matches: number
  wrong: string[]
  missed: string[]
}

/** Detectors of free text: half of the mark must agree. The others must match it whole, and little more. */
const approximate: ReadonlySet<string> = new Set(['person-name', 'address', 'regex-prompt-injection'])
const tolerance = 2

export function measureAccuracy(passages: readonly Passage[]): Record<DetectorSlug, Accuracy> {
  const entries = detectorSlugs.map((slug) => [slug, measureDetector(slug, passages)] as const)
  return Object.fromEntries(entries) as Record<DetectorSlug, Accuracy>
}

function measureDetector(slug: DetectorSlug, passages: readonly Passage[]): Accuracy {
  const [wrong, missed]: [string[], string[]] = [[], []]
  let [marks, matches] = [0, 0]
  for (const { text, marks: all, genre } of passages) {
    const expected = all.filter((mark) => mark.slug === slug)
    const found = mergeSpans(findInPlain(detectors[slug], plainCharacters(text)))
    marks += expected.length
    matches += found.length
    const describe = ({ start, end }: Mark | Span) => `${genre}: ${text.slice(start, end)}`
    for (const span of found)
      if (!expected.some((mark) => agrees(slug, mark, span))) wrong.push(describe(span))
    for (const mark of expected)
      if (!found.some((span) => agrees(slug, mark, span))) missed.push(describe(mark))
  }
  const share = (count: number, total: number) => (total === 0 ? 1 : 1 - count / total)
  return {
    precision: share(wrong.length, matches),
    recall: share(missed.length, marks),
    marks,
    matches,
    wrong,
    missed,
  }
}

/** Whether a match is a hit of a mark. */
export function agrees(slug: string, mark: Pick<Mark, 'start' | 'end'>, span: Span): boolean {
  const common = Math.min(mark.end, span.end) - Math.max(mark.start, span.start)
  if (approximate.has(slug)) return common >= Math.min(mark.end - mark.start, span.end - span.start) / 2
  const isWhole = common === mark.end - mark.start
  return isWhole && span.end - span.start - common <= tolerance
}
