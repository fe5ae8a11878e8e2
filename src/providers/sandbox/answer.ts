import type { Call, Effort } from '../../call/call.ts'
import type { ChoiceEnd, PartDelta } from '../../call/event.ts'
import type { Citation, OutputPart, TokenLogprob } from '../../call/part.ts'
import { effortOf, wantsReasoning } from '../../call/reasoning.ts'
import { png, tone } from './media.ts'
import { type Prompt, signatureOf } from './prompt.ts'
import { sampleOf } from './sample.ts'
import { audioTokens, fitting, imageTokens, textTokens } from './tokens.ts'
import { plannedCalls } from './tools.ts'

export interface PlannedPart {
  content: OutputPart
  /** Made when they are asked for: with logprobs they are many times the text. */
  deltas: Iterable<PartDelta>
}

export interface OutputTokens {
  output: number
  reasoning: number
  outputAudio: number
  outputImage: number
}

/** One answer: groups of parts follow each other, the parts of a group come side by side. */
export interface PlannedChoice {
  groups: PlannedPart[][]
  end: ChoiceEnd
  spent: OutputTokens
  /** How long it is, about. */
  bytes: number
}

interface Draft {
  call: Call
  prompt: Prompt
  choice: number
  groups: PlannedPart[][]
  spent: OutputTokens
  /** Tokens that `max_tokens` leaves. */
  room: number
  /** Something did not fit. */
  cut: boolean
  bytes: number
  mostBytes: number
}

/** The answer is longer than it may be. */
class TooLong extends Error {}

type End = Omit<ChoiceEnd, 'type' | 'choice'>

/** Null when it would be longer than `mostBytes`. */
export function planChoice(
  call: Call,
  prompt: Prompt,
  thinks: boolean,
  choice: number,
  mostBytes: number,
): PlannedChoice | null {
  try {
    return plan(call, prompt, thinks, choice, mostBytes)
  } catch (error) {
    if (error instanceof TooLong) return null
    throw error
  }
}

function plan(call: Call, prompt: Prompt, thinks: boolean, choice: number, mostBytes: number): PlannedChoice {
  const draft: Draft = {
    call,
    prompt,
    choice,
    groups: [],
    spent: { output: 0, reasoning: 0, outputAudio: 0, outputImage: 0 },
    room: call.maxTokens ?? Number.POSITIVE_INFINITY,
    cut: false,
    bytes: 0,
    mostBytes,
  }
  // Whatever it says, it begins with a look at the message.
  weigh(draft, prompt.echo.length)
  draft.bytes = 0
  if (thinks && !prompt.directives.empty) think(draft)
  const wanted = content(draft)
  const end: End = draft.cut ? { reason: 'length', native: 'length' } : wanted
  const { groups, spent, bytes } = draft
  return { groups, spent, bytes, end: { type: 'choice-end', choice, ...end } }
}

function weigh(draft: Draft, bytes: number): void {
  draft.bytes += bytes
  if (draft.bytes > draft.mostBytes) throw new TooLong()
}

function content(draft: Draft): End {
  const { call, prompt } = draft
  if (prompt.directives.empty) return { reason: 'stop', native: 'stop' }
  if (prompt.directives.refuse) return refuse(draft)
  const calls = plannedCalls(call, prompt)
  if (calls.length > 0) return callTools(draft, calls)
  const end = call.modalities?.includes('audio') ? speak(draft) : say(draft)
  if (call.modalities?.includes('image') && !draft.cut) paint(draft)
  return end
}

/** What of a text still fits, taken off the room. `ahead` counts but is never cut. */
function take(draft: Draft, bucket: 'output' | 'reasoning', text: string, ahead = ''): string {
  const kept = fitting(ahead + text, draft.room)
  weigh(draft, kept.length)
  const tokens = textTokens(kept)
  if (kept.length < ahead.length + text.length) draft.cut = true
  draft.room -= tokens
  draft.spent[bucket] += tokens
  return kept.slice(ahead.length)
}

const sentences: Record<Effort, number> = {
  none: 0,
  minimal: 1,
  low: 1,
  medium: 2,
  high: 4,
  xhigh: 6,
  max: 8,
}

function think(draft: Draft): void {
  const { reasoning: wish, maxTokens = 16_384 } = draft.call
  if (wantsReasoning(wish) === false) return
  const effort = (wish && effortOf(wish, maxTokens)) ?? 'medium'
  const whole = thoughts(draft.prompt, sentences[effort])
  const text = take(draft, 'reasoning', wish?.maxTokens ? fitting(whole, wish.maxTokens) : whole)
  if (wish?.exclude || text === '') return
  const signed = draft.prompt.directives.signed === true
  const deltas: PartDelta[] = words(text).map((word) => ({ text: word }))
  if (signed) deltas.push({ signature: signatureOf(text) })
  const format = signed ? 'vendor_a-v1' : 'unknown'
  draft.groups.push([{ content: { kind: 'reasoning', text: '', summary: [], format }, deltas }])
}

function thoughts({ echo }: Prompt, count: number): string {
  const lines = [
    `The message has ${words(echo).length} words.`,
    'The sandbox repeats what it is told.',
    'Nothing else was asked for.',
    'A longer answer would not be a better one.',
  ]
  return Array.from({ length: count }, (_, index) => lines[index % lines.length]).join(' ')
}

const refusal = 'I cannot help with that.'

function refuse(draft: Draft): End {
  const text = take(draft, 'output', refusal)
  const deltas = words(text).map((word) => ({ text: word }))
  if (text !== '') draft.groups.push([{ content: { kind: 'refusal', text: '' }, deltas }])
  return { reason: 'content_filter', native: 'refusal', explanation: 'The sandbox was asked to refuse.' }
}

function callTools(draft: Draft, calls: ReturnType<typeof plannedCalls>): End {
  const group: PlannedPart[] = []
  for (const [index, { name, arguments: text, custom }] of calls.entries()) {
    if (draft.room <= 0) {
      draft.cut = true
      break
    }
    const number = draft.prompt.calls + index + 1
    const id = draft.choice === 0 ? `call_sandbox_${number}` : `call_sandbox_${number}_${draft.choice + 1}`
    const deltas = slices(take(draft, 'output', text, name)).map((slice) => ({ arguments: slice }))
    const content: OutputPart = { kind: 'tool-call', id, name, arguments: '' }
    if (custom) content.custom = true
    group.push({ content, deltas })
  }
  if (group.length > 0) draft.groups.push(group)
  return { reason: 'tool_calls', native: 'tool_calls' }
}

function say(draft: Draft): End {
  const { call, prompt } = draft
  const { text: wanted, end } = stopped(draft)
  const text = take(draft, 'output', wanted)
  if (text === '') return end
  const structured = call.format?.kind === 'schema' || call.format?.kind === 'json'
  const pieces = structured ? slices(text) : words(text)
  const top = Math.min(call.topLogprobs ?? 0, mostAlternatives)
  if (call.logprobs) weigh(draft, (1 + top) * (pieces.length * aroundLogprob + text.length))
  const deltas: Iterable<PartDelta> = {
    *[Symbol.iterator]() {
      for (const piece of pieces) {
        yield call.logprobs ? { text: piece, logprobs: [logprobOf(piece, top)] } : { text: piece }
      }
      if (prompt.directives.cite) yield { citation: citationOf(text) }
    },
  }
  draft.groups.push([{ content: { kind: 'text', text: '' }, deltas }])
  return end
}

/** The answer up to where the client, or the filter, wants it to stop. */
function stopped(draft: Draft): { text: string; end: End } {
  const text = answerText(draft)
  if (draft.prompt.directives.filter) {
    const kept = words(text).slice(0, 3).join('')
    return { text: kept, end: { reason: 'content_filter', native: 'content_filter' } }
  }
  const hits = (draft.call.stop ?? [])
    .map((stopSequence) => ({ stopSequence, at: stopSequence === '' ? -1 : text.indexOf(stopSequence) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)
  const [hit] = hits
  if (!hit) return { text, end: { reason: 'stop', native: 'stop' } }
  const end: End = { reason: 'stop', native: 'stop_sequence', stopSequence: hit.stopSequence }
  return { text: text.slice(0, hit.at), end }
}

function answerText({ call, prompt, choice }: Draft): string {
  if (call.format?.kind === 'schema') return JSON.stringify(sampleOf(call.format.schema, prompt.echo))
  if (call.format?.kind === 'json') return JSON.stringify({ echo: prompt.echo })
  const text = prompt.directives.length === undefined ? prompt.echo : filler(prompt.directives.length)
  return choice === 0 ? text : `${text} (answer ${choice + 1})`
}

const fillerWords = 'the quick brown fox jumps over the lazy dog while nobody is looking'.split(' ')

function filler(count: number): string {
  return Array.from({ length: count }, (_, index) => fillerWords[index % fillerWords.length]).join(' ')
}

function speak(draft: Draft): End {
  const { text: wanted, end } = stopped(draft)
  const transcript = take(draft, 'output', wanted)
  const { format, data } = tone(draft.call.audio?.format)
  draft.spent.outputAudio += audioTokens(data)
  const deltas: PartDelta[] = words(transcript).map((word) => ({ transcript: word }))
  // A multiple of four, so that each piece is base64 by itself.
  for (const piece of slices(data, 800)) deltas.push({ data: piece })
  const id = `audio_sandbox_${draft.choice + 1}`
  draft.groups.push([{ content: { kind: 'audio', id, data: '', format, transcript: '' }, deltas }])
  return end
}

function paint(draft: Draft): void {
  draft.spent.outputImage += imageTokens
  const source = { kind: 'data', mediaType: 'image/png', data: png } as const
  draft.groups.push([{ content: { kind: 'image', source }, deltas: [] }])
}

function citationOf(text: string): Citation {
  return {
    url: 'https://example.com/sandbox',
    title: 'A source of the sandbox',
    cited: text.slice(0, 80),
    start: 0,
    end: text.length,
  }
}

const mostAlternatives = 20
/** What an alternative takes on the wire beside its token. */
const aroundLogprob = 64

/** Each token is as likely as the next one; alternatives are less so, one by one. */
function logprobOf(token: string, top: number): TokenLogprob {
  const alternative = (rank: number) => (rank === 0 ? token : `${token}~${rank}`)
  return {
    token,
    logprob: -0.125,
    bytes: [...Buffer.from(token)],
    top: Array.from({ length: top }, (_, rank) => ({
      token: alternative(rank),
      logprob: -0.125 - rank,
      bytes: [...Buffer.from(alternative(rank))],
    })),
  }
}

/** With the space before them, as models write them. */
function words(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? []
}

function slices(text: string, size = 12): string[] {
  return text.match(new RegExp(`.{1,${size}}`, 'gsu')) ?? []
}
