import type { Choice, Reply } from '../../../src/formats/call/event.ts'
import type { Citation, OutputPart, ReasoningPart, TokenLogprob } from '../../../src/formats/call/part.ts'
import type { Usage } from '../../../src/formats/call/usage.ts'
import { isSameJson, parseJson } from './compare-request.ts'

/** Features of a reply that were lost or changed. Empty when the replies are equivalent. */
export function compareReplies(sent: Reply, received: Reply): string[] {
  const names = new Set<string>()
  if (sent.isComplete !== received.isComplete) names.add('complete')
  for (const choice of sent.choices) {
    const other = received.choices.find(({ index }) => index === choice.index)
    if (other) compareChoice(choice, other, names)
    else names.add('n')
  }
  if (received.choices.length > sent.choices.length) names.add('added:choice')
  compareUsage(sent.usage, received.usage, names)
  return [...names].sort()
}

/** The gateway sets the cost, so it may differ; counts may not. */
function compareUsage(sent: Usage | null, received: Usage | null, names: Set<string>): void {
  for (const bucket of Object.keys(sent ?? {}) as (keyof Usage)[]) {
    if (bucket !== 'reportedCost' && sent?.[bucket] !== received?.[bucket]) names.add(`usage.${bucket}`)
  }
}

function compareChoice(sent: Choice, received: Choice, names: Set<string>): void {
  if (sent.end?.reason !== received.end?.reason) names.add('finish_reason')
  if (sent.end?.stopSequence !== received.end?.stopSequence) names.add('stop_sequence')
  if (sent.end?.explanation !== received.end?.explanation) names.add('explanation')
  const others = [...joinTexts(received.parts)]
  const positions: number[] = []
  for (const part of joinTexts(sent.parts)) {
    const index = others.findIndex(
      (other, position) => !positions.includes(position) && isSamePart(part, other),
    )
    const other = others[index]
    if (!other) {
      names.add(featureOf(part))
      continue
    }
    positions.push(index)
    compareParts(part, other, names)
  }
  if (positions.some((position, index) => position < (positions[index - 1] ?? -1))) names.add('order')
  others.forEach((part, index) => {
    if (!positions.includes(index)) names.add(`added:${part.kind}`)
  })
}

/** Joins consecutive text parts and drops empty ones. */
function joinTexts(parts: OutputPart[]): OutputPart[] {
  const result: OutputPart[] = []
  for (const part of parts) {
    if (part === undefined) continue
    const last = result.at(-1)
    if (part.kind === 'text' && part.text === '') continue
    if (part.kind === 'text' && last?.kind === 'text')
      result[result.length - 1] = { ...last, ...part, text: last.text + part.text }
    else result.push(part)
  }
  return result
}

function featureOf(part: OutputPart): string {
  if (part.kind === 'reasoning') return isSigned(part) ? 'reasoning_signature' : 'reasoning'
  return part.kind
}

function isSigned(part: ReasoningPart): boolean {
  return part.signature !== undefined || part.encrypted !== undefined
}

function isSamePart(sent: OutputPart, received: OutputPart): boolean {
  if (sent.kind !== received.kind) return false
  if (sent.kind === 'tool-call' && received.kind === 'tool-call') return sent.id === received.id
  if (sent.kind === 'reasoning' && received.kind === 'reasoning') {
    return sent.format === received.format && isSigned(sent) === isSigned(received)
  }
  return true
}

function compareParts(sent: OutputPart, received: OutputPart, names: Set<string>): void {
  if (sent.kind === 'text' && received.kind === 'text') {
    if (sent.text !== received.text) names.add('text')
    compareCitations(sent.citations ?? [], received.citations ?? [], names)
    compareLogprobs(sent.logprobs ?? [], received.logprobs ?? [], names)
  } else if (sent.kind === 'refusal' && received.kind === 'refusal') {
    if (sent.text !== received.text) names.add('refusal')
  } else if (sent.kind === 'tool-call' && received.kind === 'tool-call') {
    if (sent.name !== received.name) names.add('tool-call')
    const isWrapped =
      sent.custom && !received.custom && isSameJson({ input: sent.arguments }, parseJson(received.arguments))
    if (isWrapped) names.add('custom')
    // An empty arguments string becomes an empty object.
    else if ((sent.arguments || (sent.custom ? '' : '{}')) !== received.arguments) {
      names.add(
        isSameJson(parseJson(sent.arguments), parseJson(received.arguments))
          ? 'arguments.bytes'
          : 'arguments',
      )
    }
  } else if (sent.kind === 'reasoning' && received.kind === 'reasoning') {
    if (sent.signature !== received.signature || sent.encrypted !== received.encrypted)
      names.add('reasoning_signature')
    if (sent.text !== received.text || !isSameJson(sent.summary, received.summary)) names.add('reasoning')
    if (sent.id !== received.id) names.add('reasoning.id')
  } else if (sent.kind === 'image' && received.kind === 'image') {
    if (!isSameJson(sent.source, received.source)) names.add('image')
  } else if (sent.kind === 'audio' && received.kind === 'audio') {
    if (sent.data !== received.data) names.add('audio')
    if (sent.format !== received.format) names.add('audio.format')
    if (sent.transcript !== received.transcript) names.add('audio.transcript')
    if (sent.id !== received.id || sent.expiresAt !== received.expiresAt) names.add('audio.id')
  } else if (!isSameJson(sent, received)) names.add(sent.kind)
}

function compareCitations(sent: Citation[], received: Citation[], names: Set<string>): void {
  if (sent.length !== received.length) names.add('citations')
  sent.forEach((citation, index) => {
    const other = received[index]
    if (!other) return
    if (citation.url !== other.url) names.add('citations')
    if ((citation.title ?? '') !== (other.title ?? '')) names.add('citations.title')
    if ((citation.citedText ?? '') !== (other.citedText ?? '')) names.add('citations.cited')
    const [file, same] = [citation.file, other.file]
    if (file?.id !== same?.id || file?.name !== same?.name) names.add('citations.file')
    const hasRange = citation.start !== undefined
    if (hasRange && (citation.start !== other.start || citation.end !== other.end))
      names.add('citations.offsets')
  })
}

function compareLogprobs(sent: TokenLogprob[], received: TokenLogprob[], names: Set<string>): void {
  if (isSameJson(sent, received)) return
  const withoutBytes = (list: TokenLogprob[]) =>
    list.map(({ top, ...token }) => [token, ...top].map((entry) => [entry.token, entry.logprob]))
  names.add(isSameJson(withoutBytes(sent), withoutBytes(received)) ? 'logprobs.bytes' : 'logprobs')
}
