import { escapePattern } from '../../platform/text/escape-pattern.ts'
import { type Detector, mapSpan, type Span } from './detector.ts'
import { plainLetters } from './plain-text.ts'
import { findEncodedInjections } from './prompt-injection-encodings.ts'
import { findSuspectWindows, scoreWindows } from './prompt-injection-model.ts'
import { type InjectionPattern, injectionPatterns } from './prompt-injection-patterns.ts'
import { respell } from './prompt-injection-spelling.ts'

export const injectionLabel = '[PROMPT_INJECTION]'

/** Finds the places where a pattern can begin, in one pass: ordinary text has few. */
const anchorPattern = buildAnchorPattern()
/** Patterns by their first two characters. */
const patternsByStart = groupPatterns()

/** The score from which a text counts as an injection, where a policy sets no other. */
export const defaultThreshold = 0.5

/** Like a detector, with the score from which a text counts. Patterns match at any. */
type InjectionDetector = (text: string, threshold?: number) => Span[]

/**
 * Finds instructions that try to take over the model: by patterns, also misspelled, spaced out or encoded, and by the
 * score of what surrounds them. Occurrences of the allowed phrases, in any case, are hidden from patterns and score.
 */
export function createInjectionDetector(allowedPhrases: readonly string[] = []): InjectionDetector {
  const allowed = buildAllowedPattern(allowedPhrases)
  return (text, threshold = defaultThreshold) => {
    const isInjection = (decoded: string) => isInjectionText(decoded, threshold)
    const plain = plainLetters(text)
    const masked = allowed ? plain.text.replace(allowed, (phrase) => ' '.repeat(phrase.length)) : plain.text
    const found = [
      findPlainInjections(masked),
      findMisspelled(plain.text),
      findSuspectWindows(masked, threshold, injectionLabel),
      ...findEncodedInjections(plain.text, isInjection),
    ]
    return found.flatMap((spans) =>
      takeFirst(spans, text.length).map((span) => mapSpan(span, plain.offsetOf)),
    )
  }
}

/** Maximum matches of one kind in one text. The text behind the last of them counts as one more. */
const maxInjections = 20_000

function takeFirst(spans: Iterable<Span>, textLength: number): Span[] {
  const first: Span[] = []
  for (const span of spans) {
    first.push(span)
    if (first.length < maxInjections) continue
    first.push({ ...span, start: span.end, end: textLength })
    break
  }
  return first.filter(({ start, end }) => end > start)
}

const detectInjections = createInjectionDetector()
export const findInjections: Detector = (text) => detectInjections(text)

function* findPlainInjections(text: string): Generator<Span> {
  for (const { index, 0: stem } of text.matchAll(anchorPattern)) {
    for (const { name, pattern } of patternsByStart.get(stem.slice(0, 2).toLowerCase()) ?? []) {
      pattern.lastIndex = index
      const end = pattern.test(text) ? pattern.lastIndex : index
      if (end > index) yield { start: index, end, label: injectionLabel, kind: name }
    }
  }
}

/** A long text is corrected in windows, so that the memory of its words is that of a window. */
const windowLength = 256 * 1024
/** Overlap of windows, longer than the longest match of a pattern. */
const windowOverlap = 16 * 1024

/** Injections that are some only with their words spelled right. */
function* findMisspelled(text: string): Generator<Span> {
  for (let start = 0; start < text.length; ) {
    const end = findWordStart(text, start + windowLength)
    for (const span of findMisspelledIn(text.slice(start, end + windowOverlap)))
      if (start + span.start < end) yield { ...span, start: start + span.start, end: start + span.end }
    start = end
  }
}

/** The beginning of the word at this place, unless it is far before. */
function findWordStart(text: string, at: number): number {
  if (at >= text.length) return text.length
  const space = text.slice(at - 1024, at).search(/\s\S*$/)
  return space === -1 ? at : at - 1024 + space + 1
}

function findMisspelledIn(text: string): Span[] {
  const { text: corrected, words, suspicious } = respell(text)
  if (words.length === 0) return []
  const found = [...suspicious, ...findPlainInjections(corrected)].toSorted((a, b) => a.start - b.start)
  let next = 0
  return found.flatMap(({ start, end }) => {
    while ((words[next]?.end ?? Number.POSITIVE_INFINITY) <= start) next++
    const isMisspelled = (words[next]?.start ?? Number.POSITIVE_INFINITY) < end
    return isMisspelled ? [{ start, end, label: injectionLabel, kind: 'typoglycemia' }] : []
  })
}

function isInjectionText(text: string, threshold: number): boolean {
  if (!findPlainInjections(text).next().done) return true
  return scoreWindows(text).some(({ score }) => score >= threshold)
}

function buildAnchorPattern(): RegExp {
  const stems = [...new Set(injectionPatterns.flatMap((pattern) => pattern.stems))]
  const [words, signs] = [stems.filter((stem) => /^\w/.test(stem)), stems.filter((stem) => /^\W/.test(stem))]
  return new RegExp(`\\b(?:${words.join('|')})|${signs.map(escapePattern).join('|')}`, 'gi')
}

function groupPatterns(): Map<string, InjectionPattern[]> {
  const groups = new Map<string, Set<InjectionPattern>>()
  for (const pattern of injectionPatterns) {
    for (const stem of pattern.stems) {
      const start = stem.slice(0, 2)
      groups.set(start, (groups.get(start) ?? new Set()).add(pattern))
    }
  }
  return new Map([...groups].map(([start, patterns]) => [start, [...patterns]]))
}

function buildAllowedPattern(phrases: readonly string[]): RegExp | null {
  const sources = phrases.filter((phrase) => phrase.trim() !== '').map(escapePattern)
  // The longest first: of two that begin alike, it hides more.
  return sources.length > 0
    ? new RegExp(sources.toSorted((a, b) => b.length - a.length).join('|'), 'gi')
    : null
}
