import type { UpstreamFailure } from '../../call/failure.ts'
import type { SpeechCall, SpeechEvent } from '../../call/speech.ts'
import { encodeWavHeader } from '../../lib/wav.ts'
import type { SimulateOptions } from '../simulation.ts'
import { countSpeechSamples, speak } from './artefacts/speech.ts'
import { speechSampleRate, type Voice, voices } from './artefacts/tones.ts'
import { buildFailure, readDirectives } from './directives.ts'

const bytesPerSample = 2
/** As declared for the model. */
const defaultVoice: Voice = 'middle'

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
  if (voices.some((name) => name === voice)) return undefined
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
function* generateAudio({ format, voice, speed = 1 }: SpeechCall, text: string): Generator<Uint8Array> {
  const known: Voice = voices.find((name) => name === voice) ?? defaultVoice
  if (format === 'wav') {
    const layout = { sampleRate: speechSampleRate, channels: 1, bits: 16 }
    yield encodeWavHeader(layout, countSpeechSamples(text, speed) * bytesPerSample)
  }
  for (const { buffer } of speak(text, { voice: known, speed })) yield new Uint8Array(buffer)
}
