import { applyTextEdits, type Edit } from '../../formats/call/json-text.ts'
import { CustomFlow } from '../../governance/filters/custom-flow.ts'
import type { FilterHit, FilterResult } from '../../governance/filters/filter-set.ts'
import { findCertainEnd, isQuiet, type Reach } from '../../governance/filters/reach.ts'
import { type RedactedText, selectHits } from '../../governance/filters/redact-text.ts'
import { findContext } from '../../governance/filters/text-context.ts'
import { EditOffsets } from './edit-offsets.ts'
import type { EditedText } from './part-filter.ts'

export interface TextFilter {
  reach: Reach
  /** `from`: the text is a section of a longer one, and before this place only context. */
  scan(text: string, from?: number): Promise<FilterResult>
  redact(text: string): Promise<RedactedText>
  /** Reports hits. Throws if one of them blocks the reply. */
  report(hits: FilterHit[]): void
}

/** A text is scanned again when so much was added, and at least half of what was scanned before: linear overall. */
const minGrowth = 256
/** Characters that may be scanned earlier than that, for each that arrives and altogether. */
const earlyScanRate = 4
const maxEarlyScan = 8192
/** A long text is scanned in sections, so that the memory of its matches is that of a section. */
const sectionLength = 64 * 1024

/**
 * A text of a reply on its way through the filters. It is held back until nothing that follows can change a match in
 * it; a JSON text, whose strings are edited without their escapes, until its end.
 */
export class HeldText implements EditedText {
  readonly #filter: TextFilter
  /** Null if its patterns are not followed. */
  readonly #custom: CustomFlow | null
  #isWhole: boolean | null
  /** Released already. */
  #context = ''
  #held = ''
  #scannedLength = 0
  #earlyScan = maxEarlyScan
  /** The length of the text before `#held`, as received. */
  #position = 0
  readonly #offsets = new EditOffsets()
  isChanged = false

  /** `isWhole`: the text is held back until its end in any case. */
  constructor(filter: TextFilter, isWhole: boolean) {
    this.#filter = filter
    const { programs, characters } = filter.reach
    this.#custom = programs && new CustomFlow(programs, characters)
    this.#isWhole = isWhole || null
  }

  /** The text that can be released. */
  async add(text: string): Promise<string> {
    if (text.length <= sectionLength) return this.#addSection(text)
    const released: string[] = []
    for (let at = 0; at < text.length; at += sectionLength)
      released.push(await this.#addSection(text.slice(at, at + sectionLength)))
    return released.join('')
  }

  async #addSection(text: string): Promise<string> {
    this.#held += text
    this.#earlyScan = Math.min(maxEarlyScan, this.#earlyScan + earlyScanRate * text.length)
    this.#isWhole ??= looksLikeJson(this.#held)
    if (!this.#isWhole) this.#custom?.add(text)
    if (this.#isWhole !== false) return ''
    if (this.#filter.reach.flows && this.#custom) return this.#addFlowing()
    return this.#shouldScan() ? this.#scan() : ''
  }

  /** Releases words as they arrive: without a scan where none of them may belong to a match. */
  async #addFlowing(): Promise<string> {
    const text = this.#context + this.#held
    const from = this.#context.length
    const end = avoidSplit(text, this.#findCertainEnd(text))
    if (end <= from) return ''
    const isQuietCustom = !this.#custom?.mayMatch(this.#position)
    if (isQuietCustom && isQuiet(text, from, this.#filter.reach)) return this.#release(text, end, [])
    if (this.#shouldScan()) return this.#scan()
    if (this.#earlyScan < text.length) return ''
    this.#earlyScan -= text.length
    return this.#scan()
  }

  /** The rest of the text. */
  end(): Promise<string> {
    return this.#isWhole ? this.#scanWhole() : this.#scan(true)
  }

  /** Maps the offset of a character to its offset after the edits; undefined if that is unknown. */
  mapOffset(offset: number): number | undefined {
    return this.#isWhole && this.isChanged ? undefined : this.#offsets.map(offset)
  }

  #shouldScan(): boolean {
    const { length } = this.#held
    const isLongEnough = length > this.#filter.reach.characters
    return isLongEnough && length - this.#scannedLength >= Math.max(minGrowth, this.#scannedLength / 2)
  }

  async #scan(isEnd = false): Promise<string> {
    const text = this.#context + this.#held
    const from = this.#context.length
    this.#scannedLength = this.#held.length
    const certain = isEnd ? text.length : this.#findCertainEnd(text)
    if (certain <= from) return ''
    const { hits, redactions } = await this.#filter.scan(text, from)
    const isOpen = (end: number) => end > certain || (!isEnd && end === text.length)
    const open = redactions.find(({ start, end }) => start < certain && isOpen(end))
    const end = avoidSplit(text, open?.start ?? certain)
    this.#filter.report(selectHits(hits, end))
    return this.#release(
      text,
      end,
      redactions.filter((redaction) => redaction.end <= end),
    )
  }

  #findCertainEnd(text: string): number {
    if (!this.#custom) return findCertainEnd(text, this.#filter.reach)
    const start = this.#position - this.#context.length
    return findCertainEnd(text, this.#filter.reach, this.#custom.findOpen() - start)
  }

  #release(text: string, end: number, edits: readonly Edit[]): string {
    const from = this.#context.length
    const shift = (by: number) => (edit: Edit) => ({ ...edit, start: edit.start + by, end: edit.end + by })
    for (const edit of edits.map(shift(this.#position - from))) this.#offsets.add(edit)
    this.isChanged ||= edits.length > 0
    this.#position += end - from
    this.#context = text.slice(findContext(text, end, edits), end)
    this.#held = text.slice(end)
    this.#scannedLength = this.#held.length
    return applyTextEdits(text.slice(from, end), edits.map(shift(-from)))
  }

  async #scanWhole(): Promise<string> {
    const text = this.#held
    this.#held = ''
    if (text === '') return ''
    const { hits, text: redacted } = await this.#filter.redact(text)
    this.#filter.report(hits)
    this.isChanged ||= redacted !== null
    return redacted ?? text
  }
}

/** Whether the text begins as JSON does; null until it has a character. */
function looksLikeJson(text: string): boolean | null {
  const first = text.trimStart().charAt(0)
  return first === '' ? null : first === '{' || first === '['
}

/** Moves an end that would split a surrogate pair. */
function avoidSplit(text: string, end: number): number {
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(end - 1, end + 1)) ? end - 1 : end
}
