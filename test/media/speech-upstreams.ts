import { type Bench, describeWithUpstreams } from '../inference/two-upstreams.ts'
import type { UpstreamResponse } from '../support/upstream.ts'

/** One frame of MPEG layer III: 128 kbit/s, 44.1 kHz. */
export function mp3Frame(fill = 0): Uint8Array {
  const frame = new Uint8Array(417).fill(fill)
  frame.set([0xff, 0xfb, 0x90, 0x00])
  return frame
}

export function mp3Frames(count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, index) => mp3Frame(index + 1))
}

/** The body of a reply that is the audio itself, as OpenAI sends it. */
export function audioReply(chunks: readonly Uint8Array[], more: UpstreamResponse = {}): UpstreamResponse {
  return { sse: chunks, headers: { 'content-type': 'audio/mpeg' }, ...more }
}

export function toEvent(event: object): string {
  return `data: ${JSON.stringify(event)}\n\n`
}

/** The same as events, with usage at the end. */
export function eventReply(
  chunks: readonly Uint8Array[],
  usage: object,
  more: UpstreamResponse = {},
): UpstreamResponse {
  const deltas = chunks.map((chunk) =>
    toEvent({ type: 'speech.audio.delta', audio: Buffer.from(chunk).toString('base64') }),
  )
  return { sse: [...deltas, toEvent({ type: 'speech.audio.done', usage })], ...more }
}

const secret = 'vendor-secret-0123456789'
const perCharacter = { prompt_unit: 'character', pricing: { prompt: '0.000015', completion: '0' } }
const perToken = { pricing: { prompt: '0.0000006', completion: '0.000012' } }

interface Declared {
  endpoints: Record<string, unknown>[]
  [field: string]: unknown
}

/** Two providers of the OpenAI format, and one of each other format, all on the two upstreams. */
function buildSettings(first: string, second: string): string {
  const provider = (slug: string, base_url: string, wireFormat: string, more: object = {}) => ({
    slug,
    name: slug,
    base_url,
    dialects: [wireFormat],
    api_key: secret,
    ...more,
  })
  const on = (slug: string, more: object = perCharacter) => ({
    provider: slug,
    upstream_model: 'tts-1',
    ...more,
  })
  const models: Record<string, Declared> = {
    plain: { supported_voices: ['alloy', 'nova'], endpoints: [on('one')] },
    both: { supported_voices: ['alloy', 'nova'], endpoints: [on('one'), on('two')] },
    tokens: { endpoints: [on('one', { ...perToken, speech: { reports_usage: true } })] },
    uncounted: { endpoints: [on('one', perToken)] },
    cloner: { endpoints: [on('one', { ...perCharacter, speech: { supports_voice_cloning: true } })] },
    formats: {
      speech: { formats: ['wav'], default_voice: 'nova' },
      endpoints: [on('one'), on('two', { ...perCharacter, speech: { formats: ['mp3'] } })],
    },
    elevenlabs: { endpoints: [on('eleven')] },
    deepgram: { endpoints: [on('deep', { ...perCharacter, upstream_model: 'aura-2' })] },
    gemini: { supported_voices: ['Kore', 'Puck'], endpoints: [on('gem', perToken)] },
  }
  return JSON.stringify({
    providers: [
      provider('one', first, 'speech'),
      provider('two', second, 'speech'),
      provider('eleven', first, 'elevenlabs-speech'),
      provider('deep', first, 'deepgram-speech'),
      provider('gem', first, 'gemini-speech'),
      // Built-in providers, for their models of the snapshot.
      ...['elevenlabs', 'openai', 'minimax', 'mistral'].map((slug) => ({
        slug,
        base_url: first,
        api_key: secret,
      })),
    ],
    models: Object.entries(models).map(([name, model]) => ({
      id: `speech/${name}`,
      name,
      output_modalities: ['speech'],
      ...model,
    })),
  })
}

export function describeSpeech(name: string, tests: (bench: () => Bench) => void): void {
  describeWithUpstreams(name, tests, buildSettings)
}

export interface SpeechInit extends RequestInit {
  key?: string
  headers?: Record<string, string>
}

export function sendSpeech(
  { server }: Bench,
  body: object,
  { key, ...init }: SpeechInit = {},
): Promise<Response> {
  return fetch(`${server.url}/v1/audio/speech`, {
    method: 'POST',
    ...init,
    headers: {
      authorization: `Bearer ${key ?? server.own.inferenceKey}`,
      'content-type': 'application/json',
      ...init.headers,
    },
    body: JSON.stringify({ input: 'Hello', voice: 'alloy', response_format: 'mp3', ...body }),
  })
}

export async function readBytes(response: Response): Promise<Buffer> {
  return Buffer.from(await response.arrayBuffer())
}
