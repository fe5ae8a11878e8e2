import type { Choice, Reply } from '../../call/event.ts'
import type { Citation, OutputPart, ReasoningPart, TokenLogprob } from '../../call/part.ts'
import type { Usage } from '../../call/usage.ts'
import { jsonOf, sameJson } from './compare-request.ts'

/** What of a reply did not come through, or came through changed, by feature. Empty: all the same. */
export function replyDifferences(sent: Reply, got: Reply): string[] {
  const names = new Set<string>()
  if (sent.complete !== got.complete) names.add('complete')
  for (const choice of sent.choices) {
    const other = got.choices.find(({ index }) => index === choice.index)
    if (other) compareChoice(choice, other, names)
    else names.add('n')
  }
  if (got.choices.length > sent.choices.length) names.add('added:choice')
  compareUsage(sent.usage, got.usage, names)
  return [...names].sort()
}

/** What a reply cost is told by the gateway, so it differs; every count must not. */
function compareUsage(sent: Usage | null, got: Usage | null, names: Set<string>): void {
  for (const bucket of Object.keys(sent ?? {}) as (keyof Usage)[]) {
    if (bucket !== 'reportedCost' && sent?.[bucket] !== got?.[bucket]) names.add(`usage.${bucket}`)
  }
}

function compareChoice(sent: Choice, got: Choice, names: Set<string>): void {
  if (sent.end?.reason !== got.end?.reason) names.add('finish_reason')
  if (sent.end?.stopSequence !== got.end?.stopSequence) names.add('stop_sequence')
  if (sent.end?.explanation !== got.end?.explanation) names.add('explanation')
  const others = [...joined(got.parts)]
  const places: number[] = []
  for (const part of joined(sent.parts)) {
    const at = others.findIndex((other, place) => !places.includes(place) && matches(part, other))
    const other = others[at]
    if (!other) {
      names.add(featureOf(part))
      continue
    }
    places.push(at)
    compareParts(part, other, names)
  }
  if (places.some((place, at) => place < (places[at - 1] ?? -1))) names.add('order')
  others.forEach((part, at) => {
    if (!places.includes(at)) names.add(`added:${part.kind}`)
  })
}

/** Texts that directly follow each other are one text; an empty one is none. */
function joined(parts: OutputPart[]): OutputPart[] {
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

function matches(sent: OutputPart, got: OutputPart): boolean {
  if (sent.kind !== got.kind) return false
  if (sent.kind === 'tool-call' && got.kind === 'tool-call') return sent.id === got.id
  if (sent.kind === 'reasoning' && got.kind === 'reasoning') {
    return sent.format === got.format && isSigned(sent) === isSigned(got)
  }
  return true
}

function compareParts(sent: OutputPart, got: OutputPart, names: Set<string>): void {
  if (sent.kind === 'text' && got.kind === 'text') {
    if (sent.text !== got.text) names.add('text')
    compareCitations(sent.citations ?? [], got.citations ?? [], names)
    compareLogprobs(sent.logprobs ?? [], got.logprobs ?? [], names)
  } else if (sent.kind === 'refusal' && got.kind === 'refusal') {
    if (sent.text !== got.text) names.add('refusal')
  } else if (sent.kind === 'tool-call' && got.kind === 'tool-call') {
    if (sent.name !== got.name) names.add('tool-call')
    const wrapped = sent.custom && !got.custom && sameJson({ input: sent.arguments }, jsonOf(got.arguments))
    if (wrapped) names.add('custom')
    // No arguments at all become an empty object.
    else if ((sent.arguments || (sent.custom ? '' : '{}')) !== got.arguments) {
      names.add(sameJson(jsonOf(sent.arguments), jsonOf(got.arguments)) ? 'arguments.bytes' : 'arguments')
    }
  } else if (sent.kind === 'reasoning' && got.kind === 'reasoning') {
    if (sent.signature !== got.signature || sent.encrypted !== got.encrypted) names.add('reasoning_signature')
    if (sent.text !== got.text || !sameJson(sent.summary, got.summary)) names.add('reasoning')
    if (sent.id !== got.id) names.add('reasoning.id')
  } else if (sent.kind === 'image' && got.kind === 'image') {
    if (!sameJson(sent.source, got.source)) names.add('image')
  } else if (sent.kind === 'audio' && got.kind === 'audio') {
    if (sent.data !== got.data) names.add('audio')
    if (sent.format !== got.format) names.add('audio.format')
    if (sent.transcript !== got.transcript) names.add('audio.transcript')
    if (sent.id !== got.id || sent.expiresAt !== got.expiresAt) names.add('audio.id')
  } else if (!sameJson(sent, got)) names.add(sent.kind)
}

function compareCitations(sent: Citation[], got: Citation[], names: Set<string>): void {
  if (sent.length !== got.length) names.add('citations')
  sent.forEach((citation, at) => {
    const other = got[at]
    if (!other) return
    if (citation.url !== other.url) names.add('citations')
    if ((citation.title ?? '') !== (other.title ?? '')) names.add('citations.title')
    if ((citation.cited ?? '') !== (other.cited ?? '')) names.add('citations.cited')
    const [file, same] = [citation.file, other.file]
    if (file?.id !== same?.id || file?.name !== same?.name) names.add('citations.file')
    const placed = citation.start !== undefined
    if (placed && (citation.start !== other.start || citation.end !== other.end)) names.add('citations.place')
  })
}

function compareLogprobs(sent: TokenLogprob[], got: TokenLogprob[], names: Set<string>): void {
  if (sameJson(sent, got)) return
  const plain = (list: TokenLogprob[]) =>
    list.map(({ top, ...token }) => [token, ...top].map(({ token: word, logprob }) => [word, logprob]))
  names.add(sameJson(plain(sent), plain(got)) ? 'logprobs.bytes' : 'logprobs')
}
