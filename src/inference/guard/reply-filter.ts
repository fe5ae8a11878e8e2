import type { Edit } from '../../formats/call/json-text.ts'
import type { OutputPart } from '../../formats/call/part.ts'
import type { TextPlace } from '../../formats/call/texts.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { FilterHit, FilterResult } from '../../governance/filters/filter-set.ts'
import type { RedactedText } from '../../governance/filters/redact-text.ts'
import type { GuardrailHit, ReplyRules } from '../../governance/policy/content-rules.ts'
import { findBlock } from './block.ts'
import { HeldText, type TextFilter } from './held-text.ts'
import { placeOf, type TextField } from './part-filter.ts'
import { ReplyEditor } from './reply-editor.ts'

type EnforcedRules = NonNullable<ReplyRules['enforced']>

/** Reads the texts of replies. */
export type TextScanner = Pick<Gateway['scanner'], 'scan' | 'redact' | 'findEdits'>

/** Applies filters that block or redact to a reply. Its hits are added to those of the request as they are found. */
export class ReplyFilter extends ReplyEditor {
  readonly #scanner: TextScanner
  readonly #rules: EnforcedRules
  readonly #hits: GuardrailHit[]

  constructor({ scanner }: { scanner: TextScanner }, rules: EnforcedRules, hits: GuardrailHit[]) {
    super()
    this.#scanner = scanner
    this.#rules = rules
    this.#hits = hits
  }

  /** `isFixed`: the text belongs to what cannot be changed, so that a redaction blocks the reply. */
  createTextFilter(part: TextPlace['part'], isFixed = false): TextFilter {
    return {
      reach: this.#rules.reach,
      scan: (text, from) => this.#scan(text, part, from),
      redact: (text) => this.#redact(text, part),
      report: (hits) => this.#report(isFixed ? hits.map(escalate) : hits),
    }
  }

  override openText({ kind }: OutputPart, field: TextField): HeldText {
    return new HeldText(
      this.createTextFilter(placeOf[kind] ?? 'text', kind === 'audio'),
      field === 'arguments',
    )
  }

  override async editText(text: string, part: TextPlace['part']): Promise<string> {
    if (text === '') return text
    const { hits, text: redacted } = await this.#redact(text, part)
    this.#report(hits)
    return redacted ?? text
  }

  override async editJson<T extends object>(value: T, part: TextPlace['part']): Promise<T> {
    const text = JSON.stringify(value)
    const redacted = await this.editText(text, part)
    return redacted === text ? value : (JSON.parse(redacted) as T)
  }

  /** Passes on what must be replaced in a text whose matches are counted elsewhere, section by section. */
  async findEdits(text: string, pass: (edits: readonly Edit[]) => void): Promise<void> {
    const place = { part: 'text', role: 'assistant', message: null } as const
    const hits = await this.#scanner.findEdits(this.#rules, [{ text, place }], (_, edits) => pass(edits))
    this.#report(hits.flat().filter(({ action }) => action === 'block'))
  }

  async #scan(text: string, part: TextPlace['part'], from?: number): Promise<FilterResult> {
    const place = { part, role: 'assistant', message: null } as const
    const scanned = { text, place, ...(from !== undefined && { from }) }
    const [result] = await this.#scanner.scan(this.#rules, [scanned])
    return result ?? { hits: [], redactions: [] }
  }

  async #redact(text: string, part: TextPlace['part']): Promise<RedactedText> {
    const place = { part, role: 'assistant', message: null } as const
    const [result] = await this.#scanner.redact(this.#rules, [{ text, place }])
    return result ?? { hits: [], text: null }
  }

  #report(found: readonly FilterHit[]): void {
    const hits = found.map(toReplyHit)
    this.#hits.push(...hits)
    const error = findBlock(hits)
    if (error) throw error
  }
}

export function toReplyHit({ starts: _starts, label: _label, ...hit }: FilterHit): GuardrailHit {
  return { ...hit, direction: 'output' }
}

function escalate(hit: FilterHit): FilterHit {
  return hit.action === 'redact' ? { ...hit, action: 'block' } : hit
}
