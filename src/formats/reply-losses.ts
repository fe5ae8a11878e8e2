import { asString } from '../platform/json/json-values.ts'
import type { ReplyEvent } from './call/event.ts'
import type { Citation, OutputPart } from './call/part.ts'
import type { WireFormatName } from './vocabulary.ts'

/** Features of a reply that not every format can express, by their reported names. */
export type ReplyFeature =
  | 'audio'
  | 'citations'
  | 'explanation'
  | 'image'
  | 'logprobs'
  | 'n'
  | 'reasoning_signature'
  | 'stop_sequence'
  | 'tool_calls'

/** Limits of what the replies of a format can express. */
export interface ReplyLimits {
  /** The wire format whose native blocks and citations pass. */
  wireFormat: WireFormatName | null
  unsupported: ReadonlySet<ReplyFeature>
}

export function createReplyLimits(
  wireFormat: WireFormatName | null,
  ...unsupported: ReplyFeature[]
): ReplyLimits {
  return { wireFormat, unsupported: new Set(unsupported) }
}

/** Names of vendor-specific blocks come from the upstream, so their number and length are bounded. */
const maxLosses = 50
const maxTypeLength = 64

/** Adds the parts of an event that a format with these limits cannot express, such as `reply.logprobs`. */
export function addReplyLosses(losses: string[], event: ReplyEvent, limits: ReplyLimits): void {
  addLosses(losses, listEventLosses(event, limits))
}

export function addLosses(losses: string[], names: readonly string[]): void {
  for (const name of names) {
    const loss = `reply.${name}`
    if (losses.length < maxLosses && !losses.includes(loss)) losses.push(loss)
  }
}

function listEventLosses(event: ReplyEvent, limits: ReplyLimits): string[] {
  switch (event.type) {
    case 'part-start':
      if (isExtraChoice(event, limits)) return ['n']
      return listPartLosses(event.content, limits)
    case 'part-delta': {
      if (isExtraChoice(event, limits)) return []
      const { logprobs, citation, signature, encrypted } = event.delta
      return [
        ...lossIfUnsupported(limits, 'logprobs', logprobs),
        ...(citation && isCitationLost(citation, limits) ? ['citations'] : []),
        ...lossIfUnsupported(limits, 'reasoning_signature', signature ?? encrypted),
      ]
    }
    case 'choice-end':
      if (isExtraChoice(event, limits)) return []
      return [
        ...lossIfUnsupported(limits, 'stop_sequence', event.stopSequence),
        ...lossIfUnsupported(limits, 'explanation', event.explanation),
      ]
    default:
      return []
  }
}

function lossIfUnsupported({ unsupported }: ReplyLimits, feature: ReplyFeature, value: unknown): string[] {
  return value !== undefined && unsupported.has(feature) ? [feature] : []
}

/** A second choice, for a format with a single one. */
function isExtraChoice({ choice }: { choice: number }, { unsupported }: ReplyLimits): boolean {
  return choice > 0 && unsupported.has('n')
}

function listPartLosses(part: OutputPart, limits: ReplyLimits): string[] {
  const { unsupported, wireFormat } = limits
  switch (part.kind) {
    case 'text': {
      const hasLostCitation = part.citations?.some((citation) => isCitationLost(citation, limits))
      return [
        ...lossIfUnsupported(limits, 'logprobs', part.logprobs),
        ...(hasLostCitation ? ['citations'] : []),
      ]
    }
    case 'audio':
      return unsupported.has('audio') ? ['audio'] : []
    case 'image':
      return unsupported.has('image') || part.source.kind === 'file' ? ['image'] : []
    case 'tool-call':
      return unsupported.has('tool_calls') ? ['tool_calls'] : []
    case 'reasoning':
      return lossIfUnsupported(limits, 'reasoning_signature', part.signature ?? part.encrypted)
    case 'opaque':
      return part.wireFormat === wireFormat ? [] : [`block:${blockTypeOf(part.value, part.wireFormat)}`]
    default:
      return []
  }
}

function blockTypeOf(value: Record<string, unknown>, wireFormat: WireFormatName): string {
  return (asString(value.type) ?? Object.keys(value)[0] ?? wireFormat).slice(0, maxTypeLength)
}

/** A citation of neither a URL nor a file only has meaning in its own wire format. */
function isCitationLost({ url, file, native }: Citation, { wireFormat, unsupported }: ReplyLimits): boolean {
  if (unsupported.has('citations')) return true
  return url === undefined && file === undefined && native?.wireFormat !== wireFormat
}

/** An SSE comment, which clients ignore. */
export function formatLossComment(losses: readonly string[]): string {
  const names = losses.map((name) => name.replace(/[^\x21-\x7e]|,/g, '?'))
  return names.length === 0 ? '' : `: x-headgate-dropped: ${names.join(', ')}\n\n`
}
