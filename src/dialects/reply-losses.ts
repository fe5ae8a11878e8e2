import type { ReplyEvent } from '../call/event.ts'
import type { Citation, OutputPart } from '../call/part.ts'
import type { DialectName } from '../catalog/vocabulary.ts'
import { textOf } from '../lib/loose.ts'

/** Parts of a reply that not every format has room for, by the names they are reported with. */
export type ReplyFeature =
  | 'audio'
  | 'citations'
  | 'explanation'
  | 'file_citations'
  | 'image'
  | 'logprobs'
  | 'n'
  | 'reasoning_signature'
  | 'stop_sequence'
  | 'tool_calls'

/** What the replies of a format cannot say. */
export interface ReplyLimits {
  /** The dialect whose own blocks and citations pass. */
  dialect: DialectName | null
  lacks: ReadonlySet<ReplyFeature>
}

export function replyLimits(dialect: DialectName | null, ...lacks: ReplyFeature[]): ReplyLimits {
  return { dialect, lacks: new Set(lacks) }
}

/** More names than there are features come of blocks that only their vendor knows. */
const mostNames = 50
const longestType = 64

/** Adds to `lost` what a client of a format with these limits is not told of an event: `reply.logprobs`. */
export function addReplyLosses(lost: string[], event: ReplyEvent, limits: ReplyLimits): void {
  for (const name of lossesOf(event, limits)) {
    const told = `reply.${name}`
    if (lost.length < mostNames && !lost.includes(told)) lost.push(told)
  }
}

function lossesOf(event: ReplyEvent, limits: ReplyLimits): string[] {
  switch (event.type) {
    case 'part-start':
      if (isSurplus(event, limits)) return ['n']
      return partLosses(event.content, limits)
    case 'part-delta': {
      if (isSurplus(event, limits)) return []
      const { logprobs, citation, signature, encrypted } = event.delta
      return [
        ...missing(limits, 'logprobs', logprobs),
        ...(citation && isLost(citation, limits) ? ['citations'] : []),
        ...missing(limits, 'reasoning_signature', signature ?? encrypted),
      ]
    }
    case 'choice-end':
      if (isSurplus(event, limits)) return []
      return [
        ...missing(limits, 'stop_sequence', event.stopSequence),
        ...missing(limits, 'explanation', event.explanation),
      ]
    default:
      return []
  }
}

function missing({ lacks }: ReplyLimits, feature: ReplyFeature, value: unknown): string[] {
  return value !== undefined && lacks.has(feature) ? [feature] : []
}

/** A further answer, for a format that gives one. */
function isSurplus({ choice }: { choice: number }, { lacks }: ReplyLimits): boolean {
  return choice > 0 && lacks.has('n')
}

function partLosses(part: OutputPart, limits: ReplyLimits): string[] {
  const { lacks, dialect } = limits
  switch (part.kind) {
    case 'text': {
      const isCitationLost = part.citations?.some((citation) => isLost(citation, limits))
      return [...missing(limits, 'logprobs', part.logprobs), ...(isCitationLost ? ['citations'] : [])]
    }
    case 'audio':
      return lacks.has('audio') ? ['audio'] : []
    case 'image':
      return lacks.has('image') || part.source.kind === 'file' ? ['image'] : []
    case 'tool-call':
      return lacks.has('tool_calls') ? ['tool_calls'] : []
    case 'reasoning':
      return missing(limits, 'reasoning_signature', part.signature ?? part.encrypted)
    case 'opaque':
      return part.dialect === dialect ? [] : [`block:${typeOf(part.value, part.dialect)}`]
    default:
      return []
  }
}

function typeOf(value: Record<string, unknown>, dialect: DialectName): string {
  return (textOf(value.type) ?? Object.keys(value)[0] ?? dialect).slice(0, longestType)
}

/** One that names no address means something to its own vendor's clients only. */
function isLost({ url, file, native }: Citation, { dialect, lacks }: ReplyLimits): boolean {
  if (lacks.has('citations')) return true
  if (url !== undefined || native?.dialect === dialect) return false
  return file === undefined || lacks.has('file_citations')
}

/** A comment of a stream: no client takes it for an event. */
export function lossComment(lost: readonly string[]): string {
  const names = lost.map((name) => name.replace(/[^\x21-\x7e]|,/g, '?'))
  return names.length === 0 ? '' : `: x-headgate-dropped: ${names.join(', ')}\n\n`
}
