import type { ChoiceEnd, PartDelta, ReplyEvent } from '../../formats/call/event.ts'
import type { Edit } from '../../formats/call/json-text.ts'
import type { OutputPart } from '../../formats/call/part.ts'
import type { TextPlace } from '../../formats/call/texts.ts'
import type { ReplyFeature } from '../../formats/reply-losses.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { FilterHit, FilterResult } from '../../governance/filters/filter-set.ts'
import type { RedactedText } from '../../governance/filters/redact-text.ts'
import type { GuardrailHit, ReplyRules } from '../../governance/policy/content-rules.ts'
import type { ReplyTransform } from '../reply/transforms.ts'
import { findBlock } from './block.ts'
import type { TextFilter } from './held-text.ts'
import { PartFilter, type PartFilterContext, splitPart } from './part-filter.ts'

type EnforcedRules = NonNullable<ReplyRules['enforced']>
type PartStart = Extract<ReplyEvent, { type: 'part-start' }>

/** Reads the texts of replies. */
export type TextScanner = Pick<Gateway['scanner'], 'scan' | 'redact' | 'findEdits'>

/** Applies filters that block or redact to a reply. Its hits are added to those of the request as they are found. */
export class ReplyFilter implements ReplyTransform {
  readonly losses = new Set<ReplyFeature>()
  readonly #scanner: TextScanner
  readonly #rules: EnforcedRules
  readonly #hits: GuardrailHit[]
  readonly #parts = new Map<string, { choice: number; part: number; filter: PartFilter }>()
  readonly #context: PartFilterContext = {
    createTextFilter: (part, isFixed) => this.createTextFilter(part, isFixed),
    redactJson: (value, part) => this.redactJson(value, part),
    addLoss: (feature) => this.losses.add(feature),
  }

  constructor({ scanner }: { scanner: TextScanner }, rules: EnforcedRules, hits: GuardrailHit[]) {
    this.#scanner = scanner
    this.#rules = rules
    this.#hits = hits
  }

  async transform(event: ReplyEvent): Promise<ReplyEvent[]> {
    switch (event.type) {
      case 'part-start':
        return this.#startPart(event)
      case 'part-delta': {
        const { choice, part, delta } = event
        const deltas = (await this.#parts.get(keyOf(event))?.filter.add(delta)) ?? []
        return deltas.map((released) => ({ type: 'part-delta', choice, part, delta: released }))
      }
      case 'part-end':
        return [
          ...(await this.#endParts(({ choice, part }) => choice === event.choice && part === event.part)),
          event,
        ]
      case 'choice-end':
        return [
          ...(await this.#endParts(({ choice }) => choice === event.choice)),
          await this.#redactEnd(event),
        ]
      case 'reply-end':
      case 'reply-error':
        return [...(await this.end()), event]
      default:
        return [event]
    }
  }

  end(): Promise<ReplyEvent[]> {
    return this.#endParts(() => true)
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

  async redactText(text: string, part: TextPlace['part']): Promise<string> {
    if (text === '') return text
    const { hits, text: redacted } = await this.#redact(text, part)
    this.#report(hits)
    return redacted ?? text
  }

  async redactJson<T extends object>(value: T, part: TextPlace['part']): Promise<T> {
    const text = JSON.stringify(value)
    const redacted = await this.redactText(text, part)
    return redacted === text ? value : (JSON.parse(redacted) as T)
  }

  /** Passes on what must be replaced in a text whose matches are counted elsewhere, section by section. */
  async findEdits(text: string, pass: (edits: readonly Edit[]) => void): Promise<void> {
    const place = { part: 'text', role: 'assistant', message: null } as const
    const hits = await this.#scanner.findEdits(this.#rules, { text, place }, pass)
    this.#report(hits.filter(({ action }) => action === 'block'))
  }

  async #startPart({ type, choice, part, content: received }: PartStart): Promise<ReplyEvent[]> {
    const { content, deltas } = splitPart(received)
    const filter = new PartFilter(content.kind, this.#context)
    this.#parts.set(keyOf({ choice, part }), { choice, part, filter })
    const events: ReplyEvent[] = [{ type, choice, part, content: await this.#redactContent(content) }]
    for (const delta of deltas)
      for (const released of await filter.add(delta))
        events.push({ type: 'part-delta', choice, part, delta: released })
    return events
  }

  /** Redacts the fields of a part besides its texts. Ids stay: they connect calls and results. */
  async #redactContent(content: OutputPart): Promise<OutputPart> {
    switch (content.kind) {
      case 'tool-call':
        return { ...content, name: await this.redactText(content.name, 'name') }
      case 'server-tool':
        return {
          ...content,
          arguments: await this.redactText(content.arguments, 'tool-call'),
          item: await this.redactJson(content.item, 'tool-call'),
          ...(content.use && { use: await this.redactJson(content.use, 'tool-call') }),
        }
      case 'opaque':
        return { ...content, value: await this.redactJson(content.value, 'text') }
      case 'image':
        return content.source.kind === 'data'
          ? content
          : { ...content, source: await this.redactJson(content.source, 'url') }
      default:
        return content
    }
  }

  async #redactEnd(event: ChoiceEnd): Promise<ChoiceEnd> {
    const { explanation, stopSequence } = event
    if (explanation === undefined && stopSequence === undefined) return event
    return {
      ...event,
      ...(explanation !== undefined && { explanation: await this.redactText(explanation, 'text') }),
      ...(stopSequence !== undefined && { stopSequence: await this.redactText(stopSequence, 'text') }),
    }
  }

  async #endParts(isEnded: (place: { choice: number; part: number }) => boolean): Promise<ReplyEvent[]> {
    const events: ReplyEvent[] = []
    for (const [key, { choice, part, filter }] of [...this.#parts]) {
      if (!isEnded({ choice, part })) continue
      this.#parts.delete(key)
      const deltas: PartDelta[] = await filter.end()
      for (const delta of deltas) events.push({ type: 'part-delta', choice, part, delta })
    }
    return events
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

function keyOf({ choice, part }: { choice: number; part: number }): string {
  return `${choice} ${part}`
}
