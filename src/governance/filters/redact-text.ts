import { applyTextEdits, type Edit, readJsonText, unescapeJson } from '../../formats/call/json-text.ts'
import type { TextPlace } from '../../formats/call/texts.ts'
import { mergeSpans, type Span } from './detector.ts'
import type { FilterHit, FilterSet } from './filter-set.ts'
import { findCertainEnd } from './reach.ts'
import { findContext } from './text-context.ts'

/** The hits of the filters in a text, without their places, and the redacted text. */
export interface RedactedText {
  hits: FilterHit[]
  /** Null if it is unchanged. */
  text: string | null
}

/** A longer text is read in sections of this length, so that the memory of its matches is that of a section. */
const sectionLength = 32 * 1024

/** Redacts a text. In a JSON text the strings are read and replaced without their escapes: it stays valid. */
export function redactText(filters: FilterSet, text: string, place: TextPlace): RedactedText {
  const redacted = new RedactedSections(text)
  const hits = findEdits(filters, text, place, (edits) => redacted.add(edits))
  return { hits, text: redacted.take() }
}

/** An edit with the value that it replaces, if a placeholder may. */
export interface FoundEdit extends Edit {
  value?: string
}

/** Passes what to replace in a text on in order, section by section, and returns what was found. */
export function findEdits(
  filters: FilterSet,
  text: string,
  place: TextPlace,
  pass: (edits: readonly FoundEdit[]) => void,
): FilterHit[] {
  const json = readJsonText(text)
  const editor = json?.openEditor()
  const passTranslated = (edits: readonly Edit[]) => {
    const translated = editor?.translate(edits) ?? edits
    if (translated.length > 0) pass(translated.map(addValue))
  }
  const addValue = (edit: Edit): FoundEdit => {
    if (!edit.isReversible) return edit
    const replaced = text.slice(edit.start, edit.end)
    return { ...edit, value: json ? unescapeJson(replaced) : replaced }
  }
  const readable = json?.readable ?? text
  const hits =
    readable.length > sectionLength
      ? findInSections(filters, readable, place, passTranslated)
      : findAtOnce(filters, readable, place, passTranslated)
  const last = editor?.end() ?? []
  if (last.length > 0) pass(last)
  return hits
}

/** A text with its edits, joined once: those of a section are applied together. */
export class RedactedSections {
  readonly #text: string
  readonly #sections: string[] = []
  #end = 0

  constructor(text: string) {
    this.#text = text
  }

  /** Adds edits, which follow those that were added before. */
  add(edits: readonly Edit[]): void {
    const start = this.#end
    this.#end = edits.at(-1)?.end ?? start
    this.#sections.push(applyTextEdits(this.#text.slice(start, this.#end), edits.map(moveBy(-start))))
  }

  /** The whole text, or null if nothing was edited. */
  take(): string | null {
    if (this.#sections.length === 0) return null
    this.#sections.push(this.#text.slice(this.#end))
    return this.#sections.splice(0).join('')
  }
}

type PassEdits = (edits: readonly Edit[]) => void

function findAtOnce(filters: FilterSet, text: string, place: TextPlace, pass: PassEdits): FilterHit[] {
  const { hits, redactions } = filters.scan(text, place)
  pass(redactions)
  return hits.map(withoutStarts)
}

function withoutStarts(hit: FilterHit): FilterHit {
  return { ...hit, starts: [] }
}

function findInSections(filters: FilterSet, text: string, place: TextPlace, pass: PassEdits): FilterHit[] {
  const { bounded, unbounded, reach } = filters.splitByReach()
  const whole = unbounded.openScan(text, place)
  const hits = new HitSums()
  for (const { end, found, edits } of readSections(bounded, reach, text, place)) {
    hits.add(found)
    const wholeEdits = whole.takeRedactions(end)
    pass(wholeEdits.length === 0 ? edits : mergeSpans([...edits, ...wholeEdits]))
  }
  hits.add(whole.listHits())
  return hits.list()
}

interface Section {
  end: number
  found: FilterHit[]
  edits: Span[]
}

/** Scans each section; no match extends over two of them. */
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
      end: contextStart + end,
      found: selectHits(hits, end),
      edits: edits.map(moveBy(contextStart)),
    }
    start = contextStart + end
    contextStart += findContext(section, end, edits)
    length = sectionLength
  }
}

function moveBy<T extends Edit>(distance: number): (edit: T) => T {
  return (edit) => ({ ...edit, start: edit.start + distance, end: edit.end + distance })
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
