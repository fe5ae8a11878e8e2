import { type Detector, mapSpan, type Span } from './detector.ts'
import { plainLetters } from './plain-text.ts'
import { findEncodedInjections } from './prompt-injection-encodings.ts'
import { type InjectionPattern, injectionPatterns } from './prompt-injection-patterns.ts'
import { respell } from './prompt-injection-spelling.ts'

export const injectionLabel = '[PROMPT_INJECTION]'

/** Finds the places where a pattern can begin, in one pass: ordinary text has few. */
const anchorPattern = buildAnchorPattern()
/** By their first two characters. */
const patternsByStart = groupPatterns()

/**
 * Finds instructions that try to take over the model, also misspelled, spaced out or encoded. Occurrences of the
 * allowed phrases, in any case, are hidden from the plain patterns.
 */
export function createInjectionDetector(allowedPhrases: readonly string[] = []): Detector {
  const allowed = buildAllowedPattern(allowedPhrases)
  return (text) => {
    const plain = plainLetters(text)
    const masked = allowed ? plain.text.replace(allowed, (phrase) => ' '.repeat(phrase.length)) : plain.text
    const spans = [
      ...findPlainInjections(masked),
      ...findMisspelled(plain.text),
      ...findEncodedInjections(plain.text, isInjection),
    ]
    return spans.map((span) => mapSpan(span, plain.offsetOf))
  }
}

export const findInjections = createInjectionDetector()

function findPlainInjections(text: string): Span[] {
  const spans: Span[] = []
  for (const { index, 0: stem } of text.matchAll(anchorPattern)) {
    for (const { name, pattern } of patternsByStart.get(stem.slice(0, 2).toLowerCase()) ?? []) {
      pattern.lastIndex = index
      const end = pattern.test(text) ? pattern.lastIndex : index
      if (end > index) spans.push({ start: index, end, label: injectionLabel, kind: name })
    }
  }
  return spans
}

/** An injection that is one only with its words spelled right. */
function findMisspelled(text: string): Span[] {
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

function isInjection(text: string): boolean {
  return findPlainInjections(text).length > 0
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

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
