import { omitUndefined } from '../../platform/json/json-values.ts'
import { sliceText } from '../../platform/text/slice-text.ts'
import type { Choice, PartDelta, Reply, ReplyEvent } from './event.ts'
import type { OutputPart, ServerToolPart } from './part.ts'

/** The part before its first delta. */
export function toEmptyPart(part: OutputPart): OutputPart {
  if (part.kind === 'text') return { kind: 'text', text: '' }
  if (part.kind === 'refusal') return { kind: 'refusal', text: '' }
  if (part.kind === 'tool-call') return { ...part, arguments: '' }
  if (part.kind === 'audio') return { ...part, data: '', transcript: '' }
  if (part.kind === 'reasoning') return { ...part, text: '', summary: [] }
  return part.kind === 'server-tool' ? toRunningTool(part) : part
}

function toRunningTool({ result: _result, isError: _isError, block: _block, ...running }: ServerToolPart) {
  return { ...running, item: { ...running.item, status: 'in_progress' } }
}

/** The content of a part as deltas. Signatures stay in the part. */
export function toDeltas(part: OutputPart): PartDelta[] {
  if (part.kind === 'text') {
    const { text, logprobs, citations = [] } = part
    const textDeltas = text || logprobs ? [omitUndefined({ text, logprobs })] : []
    return [...textDeltas, ...citations.map((citation) => ({ citation }))]
  }
  if (part.kind === 'refusal') return part.text ? [{ text: part.text }] : []
  if (part.kind === 'tool-call') return part.arguments ? [{ arguments: part.arguments }] : []
  if (part.kind === 'audio') return [omitUndefined({ transcript: part.transcript, data: part.data })]
  if (part.kind === 'server-tool') {
    const { item, result, isError, block } = part
    return result === undefined ? [] : [{ ended: omitUndefined({ item, result, isError, block }) }]
  }
  if (part.kind !== 'reasoning') return []
  const reasoningDeltas = part.text ? [{ text: part.text }] : []
  return [...reasoningDeltas, ...part.summary.map((summary, section) => ({ summary, section }))]
}

/** A whole reply as the events of a stream: part after part, in chunks. */
export function replayEvents({ start, choices }: Reply): ReplyEvent[] {
  return [start, ...choices.flatMap(replayChoice), { type: 'reply-end' }]
}

function replayChoice({ index: choice, parts, end }: Choice): ReplyEvent[] {
  // A part that was announced and never started leaves a hole in the array.
  const events = parts.flatMap((part, number) => (part ? replayPart(choice, number, part) : []))
  return end ? [...events, end] : events
}

function replayPart(choice: number, part: number, whole: OutputPart): ReplyEvent[] {
  const position = { choice, part }
  const { content, signatureDeltas } = splitSignature(toEmptyPart(whole))
  const deltas = [...toDeltas(whole).flatMap(splitDelta), ...signatureDeltas]
  return [
    { type: 'part-start', ...position, content },
    ...deltas.map((delta) => ({ type: 'part-delta' as const, ...position, delta })),
    { type: 'part-end', ...position },
  ]
}

/** The signature of reasoning comes after its text. */
function splitSignature(part: OutputPart): { content: OutputPart; signatureDeltas: PartDelta[] } {
  if (part.kind !== 'reasoning') return { content: part, signatureDeltas: [] }
  const { signature, encrypted, ...content } = part
  return {
    content,
    signatureDeltas: [
      ...(signature === undefined ? [] : [{ signature }]),
      ...(encrypted === undefined ? [] : [{ encrypted }]),
    ],
  }
}

/** Characters of a chunk: some clients reject long lines. */
const maxChunkLength = 512

/** Text with logprobs stays in one delta, because the logprobs belong to all of it. */
function splitDelta(delta: PartDelta): PartDelta[] {
  const [name, ...otherNames] = (['text', 'arguments', 'summary'] as const).filter((field) => delta[field])
  if (!name || otherNames.length > 0 || delta.logprobs) return [delta]
  return Array.from(sliceText(delta[name] ?? '', maxChunkLength), (chunk) => ({ ...delta, [name]: chunk }))
}
