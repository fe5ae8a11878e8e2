// The accuracy of the content filters on labeled texts from outside the repository.
import { agrees } from '../src/governance/filters/corpus/accuracy.ts'
import { mergeSpans, type Span } from '../src/governance/filters/detector.ts'
import { type DetectorSlug, detectors } from '../src/governance/filters/detectors.ts'
import { findInPlain, plainCharacters } from '../src/governance/filters/plain-text.ts'
import { type LabeledSet, type LabeledSpan, type LabeledText, readLabeledSets } from './labeled-texts.ts'

interface Recall {
  marks: number
  found: number
}

/** What a filter finds in texts of one language. */
export interface FilterAccuracy extends Recall {
  slug: DetectorSlug
  language: string
  /** Matches, and those that are right: in texts of which only the label is known, all are or none is. */
  matches: number
  hits: number
  /** Texts that have nothing for the filter, and those in which it matches. */
  negatives: number
  flagged: number
  labels: Map<string, Recall>
  missed: Examples
  wrong: Examples
}

/** At most so many examples, spread over all. */
class Examples {
  readonly #limit: number
  readonly #texts: string[] = []
  #count = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  add(text: string, { start, end }: { start: number; end: number }): void {
    // Each is kept with the same chance, and the same ones are in each run.
    const place =
      this.#count < this.#limit ? this.#count : Bun.hash.crc32(`${this.#count}`) % (this.#count + 1)
    this.#count++
    if (place < this.#limit) this.#texts[place] = quote(text, start, end)
  }

  list(): readonly string[] {
    return this.#texts
  }
}

const maxQuote = 160
const quotedContext = 40
const allLanguages = 'all'

/** Prints the accuracy on each file of a folder. */
export async function measureLabeledTexts(folder: string, exampleCount: number): Promise<void> {
  const results = readLabeledSets(folder).map((set) => {
    const rows = measureSet(set, exampleCount)
    write(`\nAccuracy on the ${set.texts.length} texts of ${set.file}`)
    writeRows(rows)
    if (set.ignored.size > 0) write(`  labels without a filter: ${[...set.ignored.keys()].sort().join(', ')}`)
    for (const row of rows) if (row.language === allLanguages) writeExamples(row)
    return { file: set.file, texts: set.texts.length, rows: rows.map(toResult) }
  })
  const at = new Date().toISOString()
  await Bun.write('bench/results/guard-corpus.json', `${JSON.stringify({ at, results }, null, 2)}\n`)
}

/** For each filter: all texts, then those of each language if there are several. */
export function measureSet({ texts, slugs }: LabeledSet, exampleCount = 0): FilterAccuracy[] {
  const languages = [...new Set(texts.map(({ language }) => language))].sort()
  return [...slugs].sort().flatMap((slug) => {
    const rows = [allLanguages, ...(languages.length > 1 ? languages : [])].map((language) =>
      createRow(slug, language, exampleCount),
    )
    for (const text of texts) {
      const spans = mergeSpans(findInPlain(detectors[slug], plainCharacters(text.text)))
      for (const row of rows)
        if (row.language === allLanguages || row.language === text.language) addText(row, text, spans)
    }
    return rows
  })
}

function createRow(slug: DetectorSlug, language: string, exampleCount: number): FilterAccuracy {
  const counts = { marks: 0, found: 0, matches: 0, hits: 0, negatives: 0, flagged: 0 }
  const [missed, wrong] = [new Examples(exampleCount), new Examples(exampleCount)]
  return { slug, language, ...counts, labels: new Map(), missed, wrong }
}

function addText(row: FilterAccuracy, labeled: LabeledText, matches: readonly Span[]): void {
  const { text } = labeled
  const marks = labeled.spans.filter(({ slug }) => slug === row.slug)
  const contained = labeled.contained.filter(({ slug }) => slug === row.slug)
  for (const mark of marks) addMark(row, text, mark, matches)
  for (const { label } of contained) {
    countMark(row, label, matches.length > 0)
    if (matches.length === 0) row.missed.add(text, { start: 0, end: text.length })
  }
  const isNegative = marks.length + contained.length === 0
  if (isNegative) row.negatives++
  if (isNegative && matches.length > 0) row.flagged++
  for (const match of matches) {
    row.matches++
    if (contained.length > 0 || marks.some((mark) => agrees(row.slug, mark, match))) row.hits++
    else row.wrong.add(text, match)
  }
}

function addMark(row: FilterAccuracy, text: string, mark: LabeledSpan, matches: readonly Span[]): void {
  const isFound = matches.some((match) => agrees(row.slug, mark, match))
  countMark(row, mark.label, isFound)
  if (!isFound) row.missed.add(text, mark)
}

function countMark(row: FilterAccuracy, label: string, isFound: boolean): void {
  const sum = row.labels.get(label) ?? { marks: 0, found: 0 }
  row.labels.set(label, sum)
  for (const counts of [row, sum]) {
    counts.marks++
    if (isFound) counts.found++
  }
}

/** Null without matches. */
function computePrecision({ hits, matches }: Pick<FilterAccuracy, 'hits' | 'matches'>): number | null {
  return matches === 0 ? null : hits / matches
}

function toResult({ missed: _missed, wrong: _wrong, labels, ...row }: FilterAccuracy) {
  return {
    ...row,
    precision: computePrecision(row),
    recall: row.marks === 0 ? null : row.found / row.marks,
    labels: Object.fromEntries(labels),
  }
}

function writeRows(rows: readonly FilterAccuracy[]): void {
  const heads = ['precision', 'recall', 'marks', 'negatives', 'flagged']
  write(`  ${'filter'.padEnd(24)} ${'language'.padEnd(8)} ${heads.map((head) => head.padStart(9)).join(' ')}`)
  for (const row of rows) {
    const { slug, language, marks, found, negatives, flagged, labels } = row
    const cells = [
      share(computePrecision(row)),
      share(marks === 0 ? null : found / marks),
      String(marks),
      String(negatives),
      negatives === 0 ? '-' : `${((flagged / negatives) * 100).toFixed(1)} %`,
    ]
    const name = `${slug.padEnd(24)} ${language.padEnd(8)}`
    write(`  ${name} ${cells.map((cell) => cell.padStart(9)).join(' ')}`)
    if (language === allLanguages && labels.size > 1) writeLabels(labels)
  }
}

const maxLabels = 400

/** Those with the lowest recall first. */
function writeLabels(labels: FilterAccuracy['labels']): void {
  const found = [...labels.values()].filter((counts) => counts.found > 0).length
  write(`    ${found} of ${labels.size} labels are found at least once`)
  const sorted = [...labels].toSorted(([, a], [, b]) => a.found / a.marks - b.found / b.marks)
  for (const [label, { marks, found }] of sorted.slice(0, maxLabels))
    if (found < marks) write(`    ${label.padEnd(40)} ${share(found / marks)} of ${marks}`)
}

function writeExamples({ slug, missed, wrong }: FilterAccuracy): void {
  for (const text of missed.list()) write(`  ${slug} missed: ${text}`)
  for (const text of wrong.list()) write(`  ${slug} wrong:  ${text}`)
}

/** The marked text between brackets, with what is around it, on one line. */
function quote(text: string, start: number, end: number): string {
  const before = text.slice(Math.max(0, start - quotedContext), start)
  const marked = text.slice(start, Math.min(end, start + maxQuote))
  return JSON.stringify(`${before}⟦${marked}⟧${text.slice(end, end + quotedContext)}`)
}

function share(value: number | null): string {
  return value === null ? '-' : value.toFixed(3)
}

function write(text: string): void {
  process.stdout.write(`${text}\n`)
}
