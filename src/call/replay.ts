import { defined } from '../lib/loose.ts'
import type { Choice, PartDelta, Reply, ReplyEvent } from './event.ts'
import type { OutputPart } from './part.ts'

/** The part as it is before anything of it was said. */
export function blankPart(part: OutputPart): OutputPart {
  if (part.kind === 'text') return { kind: 'text', text: '' }
  if (part.kind === 'refusal') return { kind: 'refusal', text: '' }
  if (part.kind === 'tool-call') return { ...part, arguments: '' }
  if (part.kind === 'audio') return { ...part, data: '', transcript: '' }
  if (part.kind === 'reasoning') return { ...part, text: '', summary: [] }
  return part
}

/** What a part says, as the deltas that would have brought it. Signatures stay in the part. */
export function deltasOf(part: OutputPart): PartDelta[] {
  if (part.kind === 'text') {
    const { text, logprobs, citations = [] } = part
    const said = text || logprobs ? [defined({ text, logprobs })] : []
    return [...said, ...citations.map((citation) => ({ citation }))]
  }
  if (part.kind === 'refusal') return part.text ? [{ text: part.text }] : []
  if (part.kind === 'tool-call') return part.arguments ? [{ arguments: part.arguments }] : []
  if (part.kind === 'audio') return [defined({ transcript: part.transcript, data: part.data })]
  if (part.kind !== 'reasoning') return []
  const thought = part.text ? [{ text: part.text }] : []
  return [...thought, ...part.summary.map((summary, section) => ({ summary, section }))]
}

/** A whole reply once more as it might have come: part after part, in pieces. */
export function eventsOf({ start, choices }: Reply): ReplyEvent[] {
  return [start, ...choices.flatMap(choiceEvents), { type: 'reply-end' }]
}

function choiceEvents({ index: choice, parts, end }: Choice): ReplyEvent[] {
  // What was announced and never begun has left a gap.
  const events = parts.flatMap((part, number) => (part ? partEvents(choice, number, part) : []))
  return end ? [...events, end] : events
}

function partEvents(choice: number, part: number, whole: OutputPart): ReplyEvent[] {
  const at = { choice, part }
  const { content, last } = unsigned(blankPart(whole))
  const deltas = [...deltasOf(whole).flatMap(piecesOf), ...last]
  return [
    { type: 'part-start', ...at, content },
    ...deltas.map((delta) => ({ type: 'part-delta' as const, ...at, delta })),
    { type: 'part-end', ...at },
  ]
}

/** Thinking is signed when it is over. */
function unsigned(part: OutputPart): { content: OutputPart; last: PartDelta[] } {
  if (part.kind !== 'reasoning') return { content: part, last: [] }
  const { signature, encrypted, ...content } = part
  return {
    content,
    last: [
      ...(signature === undefined ? [] : [{ signature }]),
      ...(encrypted === undefined ? [] : [{ encrypted }]),
    ],
  }
}

/** In characters: some clients refuse long lines. */
const pieceLength = 512

/** Words that carry something else with them, such as the odds of their tokens, stay together. */
function piecesOf(delta: PartDelta): PartDelta[] {
  const [name, ...others] = (['text', 'arguments', 'summary'] as const).filter((field) => delta[field])
  if (!name || others.length > 0 || delta.logprobs) return [delta]
  return cut(delta[name] ?? '').map((piece) => ({ ...delta, [name]: piece }))
}

/** Never within a character that takes two units. */
function cut(text: string): string[] {
  const pieces: string[] = []
  for (let from = 0; from < text.length; ) {
    const to = from + pieceLength
    const end = isHighSurrogate(text.charCodeAt(to - 1)) ? to + 1 : to
    pieces.push(text.slice(from, end))
    from = end
  }
  return pieces
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
