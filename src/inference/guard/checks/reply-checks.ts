import { ReplyCollector, type ReplyEvent } from '../../../formats/call/event.ts'
import { applyTextEdits, readJsonText } from '../../../formats/call/json-text.ts'
import { collectPartTexts, type PlacedText, type TextPlace } from '../../../formats/call/texts.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { mergeSpans } from '../../../governance/filters/detector.ts'
import type { FilterHit, FilterResult } from '../../../governance/filters/filter-set.ts'
import type { AppliedCheck, GuardrailHit, ReplyRules } from '../../../governance/policy/content-rules.ts'
import type { ReplyTransform } from '../../reply/transforms.ts'
import type { RequestState } from '../../request/inference-request.ts'
import { ReplyFilter, type TextScanner } from '../reply-filter.ts'
import { applyChecks, type CheckedTexts } from './apply.ts'

/** No text is certain before its end: each is held until a service has read all of it. */
const heldRules: NonNullable<ReplyRules['enforced']> = {
  key: 'external-checks',
  rules: { builtins: [], customs: [] },
  reach: { characters: Number.POSITIVE_INFINITY, hasLongWords: false, flows: null, programs: null },
}

/** What a service reads of a reply. */
const checkedParts: ReadonlySet<TextPlace['part']> = new Set(['text', 'reasoning', 'tool-call'])

function isChecked({ text, place }: PlacedText): boolean {
  return checkedParts.has(place.part) && text.trim() !== ''
}

/** Creates the transforms for the checks of replies; none if there are no checks. */
export function createReplyChecks(
  gateway: Gateway,
  request: RequestState,
  hits: GuardrailHit[],
): (() => ReplyTransform)[] {
  const checks = request.keyContext.contentRules?.external?.output ?? []
  const enforced = checks.filter(({ action, isEnforced }) => isEnforced && action !== 'flag')
  const recorded = checks.filter((check) => !enforced.includes(check))
  const record = () => new ReplyRecorder(gateway, request, recorded, hits)
  const filter = () =>
    new ReplyFilter({ scanner: new CheckScanner(gateway, request, enforced) }, heldRules, hits)
  return [...(recorded.length > 0 ? [record] : []), ...(enforced.length > 0 ? [filter] : [])]
}

/** Reads the texts of one reply as a content filter does, with services instead of patterns. */
class CheckScanner implements TextScanner {
  readonly #gateway: Gateway
  readonly #request: RequestState
  readonly #checks: readonly AppliedCheck[]
  readonly #budgets = new Map<AppliedCheck, number>()

  constructor(gateway: Gateway, request: RequestState, checks: readonly AppliedCheck[]) {
    this.#gateway = gateway
    this.#request = request
    this.#checks = checks
  }

  scan(_rules: unknown, texts: readonly PlacedText[]): Promise<FilterResult[]> {
    return Promise.all(texts.map((text) => this.#read(text)))
  }

  redact(_rules: unknown, texts: readonly PlacedText[]) {
    return Promise.all(
      texts.map(async ({ text, place }) => {
        const json = readJsonText(text)
        const { hits, redactions } = await this.#read({ text: json?.readable ?? text, place })
        if (redactions.length === 0) return { hits, text: null }
        return { hits, text: json ? json.apply(redactions) : applyTextEdits(text, redactions) }
      }),
    )
  }

  findEdits(
    _rules: unknown,
    texts: readonly PlacedText[],
    pass: (index: number, edits: FilterResult['redactions']) => void,
  ) {
    return Promise.all(
      texts.map(async (text, index) => {
        const { hits, redactions } = await this.#read(text)
        if (redactions.length > 0) pass(index, redactions)
        return hits
      }),
    )
  }

  async #read(text: PlacedText): Promise<FilterResult> {
    if (!isChecked(text)) return { hits: [], redactions: [] }
    const { hits, redactions, refusal } = await applyChecks(this.#gateway, this.#request, {
      checks: this.#checks,
      direction: 'output',
      texts: [text],
      budgets: this.#budgets,
    })
    const isBlocked = hits.some(({ action }) => action === 'block')
    if (refusal && !isBlocked) throw refusal
    return { hits: hits.map(toFilterHit), redactions: mergeSpans(redactions[0] ?? []) }
  }
}

/** A hit that is of the whole text. */
function toFilterHit({ direction: _direction, part, ...hit }: GuardrailHit): FilterHit {
  return {
    ...hit,
    part: part as FilterHit['part'],
    label: '',
    starts: Array(hit.count).fill(0),
    kinds: [...hit.kinds],
  }
}

/** Passes a reply on, and has services read it before its end is sent. */
class ReplyRecorder implements ReplyTransform {
  readonly #check: (texts: PlacedText[]) => Promise<CheckedTexts>
  readonly #hits: GuardrailHit[]
  readonly #collector = new ReplyCollector()
  #isDone = false

  constructor(
    gateway: Gateway,
    request: RequestState,
    checks: readonly AppliedCheck[],
    hits: GuardrailHit[],
  ) {
    this.#check = (texts) => applyChecks(gateway, request, { checks, direction: 'output', texts })
    this.#hits = hits
  }

  async transform(event: ReplyEvent): Promise<ReplyEvent[]> {
    this.#collector.add(event)
    if (event.type === 'reply-end' || event.type === 'reply-error') await this.#read()
    return [event]
  }

  async end(): Promise<ReplyEvent[]> {
    await this.#read()
    return []
  }

  async #read(): Promise<void> {
    if (this.#isDone) return
    this.#isDone = true
    const parts = this.#collector.reply.choices.flatMap((choice) => choice.parts.filter(Boolean))
    const texts = collectPartTexts(parts).filter(isChecked)
    if (texts.length === 0) return
    const { hits } = await this.#check(texts)
    this.#hits.push(...hits)
  }
}
