import type { UpstreamFailure } from '../../../formats/call/failure.ts'
import type { SpeechCall, SpeechEvent } from '../../../formats/call/speech.ts'
import type { SimulateOptions } from '../simulation.ts'
import { encodeRecording } from './artifacts/recording.ts'
import { countSpeechSamples, speak } from './artifacts/speech.ts'
import { speechSampleRate, type Voice, voices } from './artifacts/tones.ts'
import { buildFailure, readDirectives } from './directives.ts'

/** The default voice that the model declares. */
const defaultVoice: Voice = 'middle'

/** The pitch of the voices that the examples of the OpenAI SDKs use. */
const namedVoices: ReadonlyMap<string, Voice> = new Map([
  ...voices.map((name) => [name, name] as const),
  ...(['onyx', 'ash', 'echo', 'cedar'] as const).map((name) => [name, 'low'] as const),
  ...(['alloy', 'ballad', 'fable', 'sage', 'verse'] as const).map((name) => [name, 'middle'] as const),
  ...(['coral', 'nova', 'shimmer', 'marin'] as const).map((name) => [name, 'high'] as const),
])

/** Speaks the text as tones that sandbox/listener reads back. Directives in the text are obeyed, not spoken. */
export async function* simulateSpeech(
  call: SpeechCall,
  { signal, sleep }: SimulateOptions,
): AsyncGenerator<SpeechEvent> {
  const { directives, rest } = readDirectives(call.input)
  const { startDelayMs, deltaDelayMs, breakAfter, failAfter, empty } = directives
  if (startDelayMs) await sleep(startDelayMs)
  const failure = buildFailure(directives) ?? findVoiceFailure(call)
  if (failure) return yield { type: 'reply-error', failure }
  let deltas = 0
  for (const bytes of empty ? [] : generateAudio(call, rest)) {
    if (breakAfter !== undefined && deltas >= breakAfter) return
    if (failAfter !== undefined && deltas >= failAfter)
      return yield { type: 'reply-error', failure: directedFailure }
    // Making a long recording at once would block other requests.
    if (deltas > 0) await sleep(deltaDelayMs ?? 0)
    if (signal.aborted) return
    yield { type: 'audio-delta', bytes }
    deltas++
  }
  yield { type: 'reply-end' }
}

/** A custom voice: those with a name were checked before. */
function findVoiceFailure({ voice = defaultVoice }: SpeechCall): UpstreamFailure | undefined {
  if (namedVoices.has(voice)) return undefined
  const message = 'voice: the sandbox has no custom voices.'
  return { kind: 'invalid_request', status: 400, message, code: 'sandbox_invalid_request' }
}

const directedFailure: UpstreamFailure = {
  kind: 'server',
  status: null,
  message: 'The sandbox was directed to fail within its reply.',
  code: 'sandbox_failure',
}

/** Routing has checked format and voice. */
function generateAudio(
  { format, voice = defaultVoice, speed = 1 }: SpeechCall,
  text: string,
): Iterable<Uint8Array> {
  const pitch = namedVoices.get(voice) ?? defaultVoice
  return encodeRecording(format, speak(text, { voice: pitch, speed }), {
    sampleRate: speechSampleRate,
    totalSamples: countSpeechSamples(text, speed),
  })
}
