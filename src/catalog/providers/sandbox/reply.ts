import type { Effort, ModelCall } from '../../../formats/call/call.ts'
import type { ChoiceEnd, PartDelta } from '../../../formats/call/event.ts'
import type { Citation, OutputPart, TokenLogprob } from '../../../formats/call/part.ts'
import { isReasoningRequested, resolveEffort } from '../../../formats/call/reasoning.ts'
import { buildTone, greyPixelPng } from './media.ts'
import { type Prompt, signText } from './prompt.ts'
import { generateSample } from './sample.ts'
import { countAudioTokens, countTextTokens, imageTokens, truncateToTokens } from './tokens.ts'
import { planToolCalls } from './tools.ts'

export interface PlannedPart {
  content: OutputPart
  /** Generated lazily: with logprobs they are many times the size of the text. */
  deltas: Iterable<PartDelta>
}

export interface OutputTokens {
  output: number
  reasoning: number
  outputAudio: number
  outputImage: number
}

/** One choice: groups of parts are streamed in sequence, the parts of a group interleaved. */
export interface PlannedChoice {
  groups: PlannedPart[][]
  end: ChoiceEnd
  outputTokens: OutputTokens
  /** Approximate size. */
  bytes: number
}

interface Draft {
  call: ModelCall
  prompt: Prompt
  choice: number
  groups: PlannedPart[][]
  outputTokens: OutputTokens
  /** Tokens remaining of `max_tokens`. */
  remainingTokens: number
  /** `max_tokens` was reached. */
  isTruncated: boolean
  bytes: number
  maxBytes: number
}

/** The reply exceeds its maximum size. */
class ReplyTooLongError extends Error {}

type ChoiceEnding = Omit<ChoiceEnd, 'type' | 'choice'>

/** Null when it would be longer than `maxBytes`. */
export function planChoice(
  call: ModelCall,
  prompt: Prompt,
  isReasoner: boolean,
  choice: number,
  maxBytes: number,
): PlannedChoice | null {
  try {
    return buildChoice(call, prompt, isReasoner, choice, maxBytes)
  } catch (error) {
    if (error instanceof ReplyTooLongError) return null
    throw error
  }
}

function buildChoice(
  call: ModelCall,
  prompt: Prompt,
  isReasoner: boolean,
  choice: number,
  maxBytes: number,
): PlannedChoice {
  const draft: Draft = {
    call,
    prompt,
    choice,
    groups: [],
    outputTokens: { output: 0, reasoning: 0, outputAudio: 0, outputImage: 0 },
    remainingTokens: call.maxTokens ?? Number.POSITIVE_INFINITY,
    isTruncated: false,
    bytes: 0,
    maxBytes,
  }
  // Every reply processes the whole message, so its length is checked first.
  addBytes(draft, prompt.echo.length)
  draft.bytes = 0
  if (isReasoner && !prompt.directives.empty) addReasoning(draft)
  const ending = addContent(draft)
  const end: ChoiceEnding = draft.isTruncated ? { reason: 'length', native: 'length' } : ending
  const { groups, outputTokens, bytes } = draft
  return { groups, outputTokens, bytes, end: { type: 'choice-end', choice, ...end } }
}

function addBytes(draft: Draft, bytes: number): void {
  draft.bytes += bytes
  if (draft.bytes > draft.maxBytes) throw new ReplyTooLongError()
}

function addContent(draft: Draft): ChoiceEnding {
  const { call, prompt } = draft
  if (prompt.directives.empty) return { reason: 'stop', native: 'stop' }
  if (prompt.directives.refuse) return addRefusal(draft)
  const calls = planToolCalls(call, prompt)
  if (calls.length > 0) return addToolCalls(draft, calls)
  const end = call.modalities?.includes('audio') ? addAudio(draft) : addText(draft)
  if (call.modalities?.includes('image') && !draft.isTruncated) addImage(draft)
  return end
}

/** The part of a text within the remaining tokens. `prefix` is counted but not returned. */
function takeTokens(draft: Draft, bucket: 'output' | 'reasoning', text: string, prefix = ''): string {
  const fitted = truncateToTokens(prefix + text, draft.remainingTokens)
  addBytes(draft, fitted.length)
  const tokens = countTextTokens(fitted)
  if (fitted.length < prefix.length + text.length) draft.isTruncated = true
  draft.remainingTokens -= tokens
  draft.outputTokens[bucket] += tokens
  return fitted.slice(prefix.length)
}

const sentencesByEffort: Record<Effort, number> = {
  none: 0,
  minimal: 1,
  low: 1,
  medium: 2,
  high: 4,
  xhigh: 6,
  max: 8,
}

function addReasoning(draft: Draft): void {
  const { reasoning: options, maxTokens = 16_384 } = draft.call
  if (isReasoningRequested(options) === false) return
  const effort = (options && resolveEffort(options, maxTokens)) ?? 'medium'
  const fullText = buildReasoningText(draft.prompt, sentencesByEffort[effort])
  const text = takeTokens(
    draft,
    'reasoning',
    options?.maxTokens ? truncateToTokens(fullText, options.maxTokens) : fullText,
  )
  if (options?.exclude || text === '') return
  const isSigned = draft.prompt.directives.signed === true
  const deltas: PartDelta[] = splitWords(text).map((word) => ({ text: word }))
  if (isSigned) deltas.push({ signature: signText(text) })
  const format = isSigned ? 'vendor_a-v1' : 'unknown'
  draft.groups.push([{ content: { kind: 'reasoning', text: '', summary: [], format }, deltas }])
}

function buildReasoningText({ echo }: Prompt, count: number): string {
  const lines = [
    `The message has ${splitWords(echo).length} words.`,
    'The sandbox repeats what it is sent.',
    'Nothing else has been requested.',
    'A longer answer would not be a better one.',
  ]
  return Array.from({ length: count }, (_, index) => lines[index % lines.length]).join(' ')
}

const refusal = 'I cannot help with that.'

function addRefusal(draft: Draft): ChoiceEnding {
  const text = takeTokens(draft, 'output', refusal)
  const deltas = splitWords(text).map((word) => ({ text: word }))
  if (text !== '') draft.groups.push([{ content: { kind: 'refusal', text: '' }, deltas }])
  return { reason: 'content_filter', native: 'refusal', explanation: 'The sandbox was directed to refuse.' }
}

function addToolCalls(draft: Draft, calls: ReturnType<typeof planToolCalls>): ChoiceEnding {
  const group: PlannedPart[] = []
  for (const [index, { name, arguments: text, custom }] of calls.entries()) {
    if (draft.remainingTokens <= 0) {
      draft.isTruncated = true
      break
    }
    const number = draft.prompt.toolCallCount + index + 1
    const id = draft.choice === 0 ? `call_sandbox_${number}` : `call_sandbox_${number}_${draft.choice + 1}`
    const deltas = splitChunks(takeTokens(draft, 'output', text, name)).map((slice) => ({ arguments: slice }))
    const content: OutputPart = { kind: 'tool-call', id, name, arguments: '' }
    if (custom) content.custom = true
    group.push({ content, deltas })
  }
  if (group.length > 0) draft.groups.push(group)
  return { reason: 'tool_calls', native: 'tool_calls' }
}

function addText(draft: Draft): ChoiceEnding {
  const { call, prompt } = draft
  const { text: fullText, end } = applyStop(draft)
  const text = takeTokens(draft, 'output', fullText)
  if (text === '') return end
  const isStructured = call.format?.kind === 'schema' || call.format?.kind === 'json'
  const chunks = isStructured ? splitChunks(text) : splitWords(text)
  const top = Math.min(call.topLogprobs ?? 0, maxAlternatives)
  if (call.logprobs) addBytes(draft, (1 + top) * (chunks.length * logprobOverheadBytes + text.length))
  const deltas: Iterable<PartDelta> = {
    *[Symbol.iterator]() {
      for (const chunk of chunks) {
        yield call.logprobs ? { text: chunk, logprobs: [buildLogprob(chunk, top)] } : { text: chunk }
      }
      if (prompt.directives.cite) yield { citation: buildCitation(text) }
    },
  }
  draft.groups.push([{ content: { kind: 'text', text: '' }, deltas }])
  return end
}

/** The reply up to a stop sequence or the content filter. */
function applyStop(draft: Draft): { text: string; end: ChoiceEnding } {
  const text = buildReplyText(draft)
  if (draft.prompt.directives.filter) {
    const filtered = splitWords(text).slice(0, 3).join('')
    return { text: filtered, end: { reason: 'content_filter', native: 'content_filter' } }
  }
  const hits = (draft.call.stop ?? [])
    .map((stopSequence) => ({ stopSequence, at: stopSequence === '' ? -1 : text.indexOf(stopSequence) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)
  const [hit] = hits
  if (!hit) return { text, end: { reason: 'stop', native: 'stop' } }
  const end: ChoiceEnding = { reason: 'stop', native: 'stop_sequence', stopSequence: hit.stopSequence }
  return { text: text.slice(0, hit.at), end }
}

function buildReplyText({ call, prompt, choice }: Draft): string {
  if (call.format?.kind === 'schema') return JSON.stringify(generateSample(call.format.schema, prompt.echo))
  if (call.format?.kind === 'json') return JSON.stringify({ echo: prompt.echo })
  const text =
    prompt.directives.wordCount === undefined ? prompt.echo : buildFiller(prompt.directives.wordCount)
  return choice === 0 ? text : `${text} (answer ${choice + 1})`
}

const fillerWords = 'the quick brown fox jumps over the lazy dog while someone is looking'.split(' ')

function buildFiller(count: number): string {
  return Array.from({ length: count }, (_, index) => fillerWords[index % fillerWords.length]).join(' ')
}

function addAudio(draft: Draft): ChoiceEnding {
  const { text: fullText, end } = applyStop(draft)
  const transcript = takeTokens(draft, 'output', fullText)
  const { format, data } = buildTone(draft.call.audio?.format)
  draft.outputTokens.outputAudio += countAudioTokens(data)
  const deltas: PartDelta[] = splitWords(transcript).map((word) => ({ transcript: word }))
  // A multiple of four, so that each chunk is valid base64.
  for (const chunk of splitChunks(data, 800)) deltas.push({ data: chunk })
  const id = `audio_sandbox_${draft.choice + 1}`
  draft.groups.push([{ content: { kind: 'audio', id, data: '', format, transcript: '' }, deltas }])
  return end
}

function addImage(draft: Draft): void {
  draft.outputTokens.outputImage += imageTokens
  const source = { kind: 'data', mediaType: 'image/png', data: greyPixelPng } as const
  draft.groups.push([{ content: { kind: 'image', source }, deltas: [] }])
}

function buildCitation(text: string): Citation {
  return {
    url: 'https://example.com/sandbox',
    title: 'A source of the sandbox',
    citedText: text.slice(0, 80),
    start: 0,
    end: text.length,
  }
}

const maxAlternatives = 20
/** The size of an alternative on the wire, without its token. */
const logprobOverheadBytes = 64

/** All tokens have the same probability; each alternative has a lower one. */
function buildLogprob(token: string, top: number): TokenLogprob {
  const buildAlternative = (rank: number) => (rank === 0 ? token : `${token}~${rank}`)
  return {
    token,
    logprob: -0.125,
    bytes: [...Buffer.from(token)],
    top: Array.from({ length: top }, (_, rank) => ({
      token: buildAlternative(rank),
      logprob: -0.125 - rank,
      bytes: [...Buffer.from(buildAlternative(rank))],
    })),
  }
}

/** Splits a text into words with their leading spaces, like the tokens of models. */
function splitWords(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? []
}

function splitChunks(text: string, size = 12): string[] {
  return text.match(new RegExp(`.{1,${size}}`, 'gsu')) ?? []
}
