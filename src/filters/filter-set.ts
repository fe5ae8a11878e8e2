import { RE2JS, RE2Set } from 're2js'
import type { TextPlace } from '../call/texts.ts'
import { findCreditCards } from './credit-card.ts'
import { type Detector, mergeSpans, redactSpans, type Span } from './detector.ts'
import { findEmails } from './email.ts'
import { findIpAddresses } from './ip-address.ts'
import { findPhones } from './phone.ts'
import { findInjections } from './prompt-injection.ts'
import { findSecrets } from './secrets.ts'
import { findSsns } from './ssn.ts'

type FilterAction = 'flag' | 'redact' | 'block'

/** A filter as policies define it. */
export interface BuiltinRule {
  slug: string
  action: FilterAction
  scan_scope?: 'user_only' | 'all_messages'
}

export interface CustomRule {
  pattern: string
  action: FilterAction
  label: string | null
}

/** A filter that matched, without the text it matched. */
export interface FilterHit extends Pick<TextPlace, 'part' | 'role'> {
  /** The slug of a detector, or the label of a custom filter. */
  filter: string
  action: FilterAction
  /** The label that replaces a match. */
  label: string
  /** What a detector of several kinds recognised. */
  kinds: string[]
  count: number
}

interface CompiledFilter {
  name: string
  action: FilterAction
  label: string
  isUserOnly: boolean
  find: Detector
}

const detectors: Readonly<Record<string, Detector>> = {
  email: findEmails,
  phone: findPhones,
  ssn: findSsns,
  'credit-card': findCreditCards,
  'ip-address': findIpAddresses,
  secrets: findSecrets,
  'regex-prompt-injection': findInjections,
}

/** The filters of a policy, compiled once. Custom patterns run on an engine that is linear in the text. */
export class FilterSet {
  readonly #builtins: CompiledFilter[]
  readonly #customs: CompiledFilter[]
  /** Finds which custom patterns match at all, in one pass. */
  readonly #screen: RE2Set | null

  constructor(
    builtins: readonly BuiltinRule[],
    customs: readonly CustomRule[],
    labels: Record<string, string>,
  ) {
    this.#builtins = builtins.flatMap(({ slug, action, scan_scope }) => {
      const find = detectors[slug]
      const isUserOnly = scan_scope === 'user_only'
      return find ? [{ name: slug, action, label: labels[slug] ?? '[REDACTED]', isUserOnly, find }] : []
    })
    this.#customs = customs.map(compileCustom)
    this.#screen = customs.length > 0 ? new RE2Set() : null
    for (const { pattern } of customs) this.#screen?.add(RE2JS.translateRegExp(pattern))
    this.#screen?.compile()
  }

  /** The text with what must not pass replaced, and what matched in it. */
  apply(text: string, place: TextPlace): { text: string; hits: FilterHit[] } {
    const hits: FilterHit[] = []
    const redacted: Span[] = []
    for (const filter of this.#listCandidates(text, place)) {
      const spans = filter.find(text)
      if (spans.length === 0) continue
      hits.push(toHit(filter, spans, place))
      if (filter.action === 'redact') redacted.push(...spans)
    }
    return { text: redacted.length > 0 ? redactSpans(text, mergeSpans(redacted)) : text, hits }
  }

  #listCandidates(text: string, { role }: TextPlace): CompiledFilter[] {
    const builtins = this.#builtins.filter(({ isUserOnly }) => !isUserOnly || role === 'user')
    if (!this.#screen) return builtins
    const matching = new Set(this.#screen.match(text))
    return [...builtins, ...this.#customs.filter((_, index) => matching.has(index))]
  }
}

function toHit({ name, action, label }: CompiledFilter, spans: Span[], { part, role }: TextPlace): FilterHit {
  const kinds = [...new Set(spans.flatMap(({ kind }) => kind ?? []))]
  return { filter: name, action, label, kinds, count: spans.length, part, role }
}

function compileCustom({ pattern, action, label }: CustomRule): CompiledFilter {
  const program = RE2JS.compile(RE2JS.translateRegExp(pattern))
  const replacement = label ?? '[REDACTED]'
  const find: Detector = (text) => {
    const spans: Span[] = []
    const matcher = program.matcher(text)
    while (matcher.find()) {
      const [start, end] = [matcher.start(), matcher.end()]
      if (end > start) spans.push({ start, end, label: replacement })
    }
    return spans
  }
  return { name: label ?? pattern.slice(0, 100), action, label: replacement, isUserOnly: false, find }
}
