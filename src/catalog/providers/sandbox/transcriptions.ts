import {
  countAudioUnits,
  needsSpeakers,
  type Recording,
  type TranscriptEvent,
  type TranscriptionCall,
  type TranscriptionReply,
  type TranscriptSegment,
  type TranscriptWord,
} from '../../../formats/call/transcription.ts'
import { zeroUsage } from '../../../formats/call/usage.ts'
import { joinWords } from '../../../formats/transcriptions/wire-format.ts'
import type { JsonObject } from '../../../platform/json/json-values.ts'
import { mixToMono, parseWav } from '../../../platform/media/wav.ts'
import type { SimulateOptions } from '../simulation.ts'
import { listen } from './artifacts/speech.ts'
import { buildFailure, type Directives, readDirectives } from './directives.ts'

/** Reads back what the sandbox said. Directives are in the prompt of the request. */
export async function* simulateTranscription(
  call: TranscriptionCall,
  { signal, sleep }: SimulateOptions,
): AsyncGenerator<TranscriptEvent> {
  const { directives } = readDirectives(call.prompt ?? '')
  if (directives.startDelayMs) await sleep(directives.startDelayMs)
  if (signal.aborted) return
  const failure = buildFailure(directives)
  if (failure) return yield { type: 'error', failure }
  const reply = await buildReply(call, directives)
  const deltas = reply.text.match(/\s*\S+|\s+$/g) ?? []
  const { breakAfter, failAfter, deltaDelayMs } = directives
  for (const [index, text] of [...deltas, null].entries()) {
    if (isDue(breakAfter, index, text)) return
    if (isDue(failAfter, index, text)) return yield { type: 'error', failure: midwayFailure }
    if (text === null || signal.aborted) break
    if (deltaDelayMs && index > 0) await sleep(deltaDelayMs)
    yield { type: 'delta', text, ...(call.logprobs && { logprobs: [buildLogprob(text)] }) }
  }
  yield { type: 'done', reply }
}

const midwayFailure = {
  kind: 'server',
  status: null,
  message: 'The sandbox was directed to fail within its reply.',
  code: 'sandbox_failure',
} as const

function isDue(after: number | undefined, index: number, text: string | null): boolean {
  return after !== undefined && (index >= after || text === null)
}

async function buildReply(call: TranscriptionCall, directives: Directives): Promise<TranscriptionReply> {
  const { text, words, duration } = await hear(call.recording)
  const heard = directives.empty ? '' : text
  return {
    text: heard,
    language: call.language ?? 'english',
    duration,
    segments: needsSpeakers(call) && !directives.empty ? listSpokenSegments(call, words) : [],
    words: directives.empty ? [] : words,
    ...(call.logprobs && { logprobs: (heard.match(/\s*\S+/g) ?? []).map(buildLogprob) }),
    usage: directives.noUsage ? null : zeroUsage,
    units: countAudioUnits(call, directives.noUsage ? null : duration),
  }
}

/** The sandbox does not hear voices: every sentence is the next of the known speakers, or of two. */
function listSpokenSegments(
  { knownSpeakers = [] }: TranscriptionCall,
  words: TranscriptWord[],
): TranscriptSegment[] {
  const sentences = joinWords(words.map(({ word, ...span }) => ({ ...span, text: `${word} ` })))
  return sentences.map((sentence, index) => {
    const known = knownSpeakers[index % knownSpeakers.length]
    return { ...sentence, ...(known ? { speakerName: known.name } : { speaker: index % 2 }) }
  })
}

/** Returns the spoken text, or the length of a recording that the sandbox did not make. */
async function hear({
  bytes,
  durationMs,
}: Recording): Promise<{ text: string; words: TranscriptWord[]; duration: number }> {
  const wav = parseWav(bytes)
  const samples = wav && (await mixToMono(wav))
  const heard = wav && samples && (await listen(samples, wav.sampleRate))
  if (heard && heard.text !== null) return { ...heard, text: heard.text }
  const duration = durationMs / 1000
  return { text: `A recording of ${duration.toFixed(1)} seconds.`, words: [], duration }
}

function buildLogprob(token: string): JsonObject {
  return { token, logprob: -0.125, bytes: [...Buffer.from(token)] }
}
