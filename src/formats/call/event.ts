import type { JsonObject } from '../../platform/json/json-values.ts'
import type { ServedTier } from '../vocabulary.ts'
import type { UpstreamFailure } from './failure.ts'
import type {
  AudioPart,
  Citation,
  OutputPart,
  ReasoningPart,
  ServerToolPart,
  TextPart,
  TokenLogprob,
} from './part.ts'
import type { Usage } from './usage.ts'

/**
 * One event of a reply. Within a choice, parts are numbered in the order they start; their deltas may
 * interleave. A whole reply is the same events, with at most one delta per part.
 */
export type ReplyEvent =
  | ReplyStart
  | { type: 'part-start'; choice: number; part: number; content: OutputPart }
  | { type: 'part-delta'; choice: number; part: number; delta: PartDelta }
  | { type: 'part-end'; choice: number; part: number }
  | ChoiceEnd
  | { type: 'usage'; usage: Usage }
  /** The model's turn has ended, and another one follows in the same reply. */
  | { type: 'turn-end' }
  /** The upstream marked the end of its reply: a stream that stops without it was cut off. */
  | { type: 'reply-end' }
  | { type: 'reply-error'; failure: UpstreamFailure }

export interface ReplyStart {
  type: 'reply-start'
  /** The vendor's id and model name. */
  id?: string
  model?: string
  serviceTier?: ServedTier
  fingerprint?: string
}

export interface ChoiceEnd {
  type: 'choice-end'
  choice: number
  reason: FinishReason
  /** The vendor's finish reason. */
  native: string | null
  stopSequence?: string
  /** The vendor's reason for a refusal, if it gives one. */
  explanation?: string
}

/** Each field is appended to the part's field of that name; `section` is the index of the summary. */
export interface PartDelta {
  text?: string
  arguments?: string
  summary?: string
  section?: number
  signature?: string
  encrypted?: string
  citation?: Citation
  logprobs?: TokenLogprob[]
  /** Base64 audio. */
  data?: string
  transcript?: string
  /** Fields of a server tool that has ended. */
  ended?: Pick<ServerToolPart, 'item' | 'result' | 'isError' | 'block'>
  /** An event of a running server tool, as the Responses format has it, without `response.`. */
  progress?: JsonObject
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'error'

export interface Choice {
  index: number
  parts: OutputPart[]
  /** Null when the reply was cut off. */
  end: ChoiceEnd | null
}

/** A whole reply: the sum of its events. */
export interface Reply {
  start: ReplyStart
  choices: Choice[]
  usage: Usage | null
  failure: UpstreamFailure | null
  isComplete: boolean
}

/** Collects the events of a reply into a `Reply`. */
export class ReplyCollector {
  readonly reply: Reply = {
    start: { type: 'reply-start' },
    choices: [],
    usage: null,
    failure: null,
    isComplete: false,
  }

  add(event: ReplyEvent): void {
    switch (event.type) {
      case 'reply-start':
        Object.assign(this.reply.start, event)
        break
      case 'part-start':
        this.#openChoice(event.choice).parts[event.part] = copyPart(event.content)
        break
      case 'part-delta': {
        const part = this.#openChoice(event.choice).parts[event.part]
        if (part) appendDelta(part, event.delta)
        break
      }
      case 'choice-end':
        this.#openChoice(event.choice).end = event
        break
      case 'usage':
        this.reply.usage = event.usage
        break
      case 'reply-error':
        this.reply.failure = event.failure
        break
      case 'reply-end':
        this.reply.isComplete = true
        break
      case 'part-end':
      case 'turn-end':
        break
    }
  }

  #openChoice(index: number): Choice {
    const { choices } = this.reply
    const existing = choices.find((choice) => choice.index === index)
    if (existing) return existing
    const choice: Choice = { index, parts: [], end: null }
    choices.push(choice)
    choices.sort((a, b) => a.index - b.index)
    return choice
  }
}

export function collectReply(events: Iterable<ReplyEvent>): Reply {
  const collector = new ReplyCollector()
  for (const event of events) collector.add(event)
  return collector.reply
}

/** Mutates the part: copying its lists for every delta would be quadratic. */
export function appendAnnotations(part: TextPart, { citation, logprobs }: PartDelta): void {
  if (citation) {
    part.citations ??= []
    part.citations.push(citation)
  }
  if (!logprobs) return
  part.logprobs ??= []
  for (const logprob of logprobs) part.logprobs.push(logprob)
}

/** A copy that can be appended to without changing the original. Strings are shared. */
export function copyPart<Part extends OutputPart>(content: Part): Part {
  if (content.kind === 'reasoning') return { ...content, summary: [...content.summary] }
  if (content.kind !== 'text') return { ...content }
  const { citations, logprobs } = content
  return {
    ...content,
    ...(citations && { citations: [...citations] }),
    ...(logprobs && { logprobs: [...logprobs] }),
  }
}

function appendDelta(part: OutputPart, delta: PartDelta): void {
  if (part.kind === 'text') {
    part.text += delta.text ?? ''
    appendAnnotations(part, delta)
  } else if (part.kind === 'refusal') part.text += delta.text ?? ''
  else if (part.kind === 'tool-call') part.arguments += delta.arguments ?? ''
  else if (part.kind === 'reasoning') appendReasoning(part, delta)
  else if (part.kind === 'audio') appendAudio(part, delta)
  else if (part.kind === 'server-tool') Object.assign(part, delta.ended)
}

function appendReasoning(part: ReasoningPart, delta: PartDelta): void {
  part.text += delta.text ?? ''
  if (delta.summary !== undefined) {
    const section = delta.section ?? Math.max(0, part.summary.length - 1)
    part.summary[section] = (part.summary[section] ?? '') + delta.summary
  }
  if (delta.signature !== undefined) part.signature = (part.signature ?? '') + delta.signature
  if (delta.encrypted !== undefined) part.encrypted = (part.encrypted ?? '') + delta.encrypted
}

function appendAudio(part: AudioPart, delta: PartDelta): void {
  part.data += delta.data ?? ''
  if (delta.transcript !== undefined) part.transcript = (part.transcript ?? '') + delta.transcript
}
