import { describe, expect, test } from 'bun:test'
import { createOpenAI } from '@ai-sdk/openai'
import { APICallError, experimental_generateSpeech, generateSpeech } from 'ai'
import { BadRequestError } from 'openai'
import { listen } from '../../src/catalog/providers/sandbox/artifacts/speech.ts'
import { detectAudio } from '../../src/platform/media/audio-info.ts'
import { parseWav } from '../../src/platform/media/wav.ts'
import { rejection, useLab } from './lab.ts'
import { openaiClient, openRouterClient } from './sdks.ts'

globalThis.AI_SDK_LOG_WARNINGS = false

const lab = useLab()
const model = 'sandbox/speaker'
const input = 'The quick brown fox'

/** Transcribes the recording. */
async function readBack(bytes: Uint8Array): Promise<string | null> {
  const samples = parseWav(bytes)?.data ?? bytes
  return (await listen(new Int16Array(new Uint8Array(samples).buffer), 24_000)).text
}

async function collect(stream: ReadableStream<Uint8Array>): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return chunks
}

describe('audio.speech of the OpenAI SDK', () => {
  const speech = () => openaiClient(lab()).audio.speech

  test('a whole recording, MP3 unless another format is requested, as the SDK documents', async () => {
    const wav = await speech().create({ model, input, voice: 'low', response_format: 'wav' })
    expect(wav.headers.get('content-type')).toBe('audio/wav')
    expect(wav.headers.get('x-generation-id')).toStartWith('gen-')
    expect(await readBack(new Uint8Array(await wav.arrayBuffer()))).toBe(input)
    const pcm = await speech().create({ model, input, voice: 'high', response_format: 'pcm' })
    expect(pcm.headers.get('content-type')).toBe('audio/pcm;rate=24000;channels=1')
    expect(await readBack(new Uint8Array(await pcm.arrayBuffer()))).toBe(input)
    const mp3 = await speech().create({ model, input, voice: 'coral' })
    expect(mp3.headers.get('content-type')).toBe('audio/mpeg')
    expect(await detectAudio(new Uint8Array(await mp3.arrayBuffer()))).toMatchObject({ format: 'mp3' })
  })

  test.each([
    ...['alloy', 'ash', 'ballad', 'coral', 'echo', 'fable', 'nova'],
    ...['onyx', 'sage', 'shimmer', 'verse', 'marin', 'cedar'],
  ])('the voice %s of its examples', async (voice) => {
    const pcm = await speech().create({ model, input, voice, response_format: 'pcm' })
    expect(await readBack(new Uint8Array(await pcm.arrayBuffer()))).toBe(input)
  })

  test.each([
    ['mp3', 'audio/mpeg', 'mp3'],
    ['opus', 'audio/ogg', 'ogg'],
    ['aac', 'audio/aac', 'aac'],
    ['flac', 'audio/flac', 'flac'],
    ['wav', 'audio/wav', 'wav'],
  ] as const)('the format %s of its examples', async (response_format, contentType, format) => {
    const response = await speech().create({ model, input, voice: 'alloy', response_format })
    expect(response.headers.get('content-type')).toBe(contentType)
    const info = await detectAudio(new Uint8Array(await response.arrayBuffer()))
    expect(info?.format).toBe(format)
    // 19 characters, with what frames the text: about two seconds.
    expect(info?.durationSeconds).toBeCloseTo(1.8, 0)
  })

  test('a recording as it is generated', async () => {
    const slow = `sandbox:slow=5 ${input}`
    const response = await speech().create({ model, input: slow, voice: 'low', response_format: 'pcm' })
    const chunks = await collect(response.body as ReadableStream<Uint8Array>)
    expect(chunks.length).toBeGreaterThan(3)
    expect(await readBack(Buffer.concat(chunks))).toBe(input)
  })

  test('events with audio, then usage', async () => {
    const request = { model, input, voice: 'low', response_format: 'pcm', stream_format: 'sse' } as const
    const response = await speech().create(request)
    const events = (await response.text())
      .trim()
      .split('\n\n')
      .map((event) => JSON.parse(event.replace('data: ', '')))
    const audio = events.flatMap((event) => (event.audio ? [Buffer.from(event.audio, 'base64')] : []))
    expect(await readBack(Buffer.concat(audio))).toBe(input)
    expect(events.at(-1)).toMatchObject({ type: 'speech.audio.done', usage: { cost: 0.000285 } })
  })

  test('an error has the parameter it is about', async () => {
    const error = await rejection(speech().create({ model, input, voice: 'nobody' }))
    expect(error).toBeInstanceOf(BadRequestError)
    expect(error).toMatchObject({ status: 400, param: 'voice' })
  })
})

describe('generateSpeech of the AI SDK', () => {
  const speaker = () => createOpenAI({ baseURL: `${lab().url}/v1`, apiKey: lab().key }).speech(model)

  test.each([
    ['generateSpeech', generateSpeech],
    ['experimental_generateSpeech', experimental_generateSpeech],
  ])('%s', async (_, generate) => {
    const { audio } = await generate({
      model: speaker(),
      text: input,
      voice: 'middle',
      outputFormat: 'wav',
      speed: 2,
    })
    expect(audio.mediaType).toBe('audio/wav')
    expect(await readBack(audio.uint8Array)).toBe(input)
  })

  test('an error has the message', async () => {
    const request = { model: speaker(), text: input, voice: 'nobody', maxRetries: 0 }
    const error = await rejection(generateSpeech(request))
    expect(error).toBeInstanceOf(APICallError)
    expect((error as APICallError).message).toContain('voice: must be one of low, middle, high, alloy')
  })
})

describe('tts of the OpenRouter SDK', () => {
  test('streams the recording, PCM by default', async () => {
    const stream = await openRouterClient(lab()).tts.createSpeech({ speechRequest: { model, input } })
    const chunks = await collect(stream as unknown as ReadableStream<Uint8Array>)
    expect(await readBack(Buffer.concat(chunks))).toBe(input)
  })

  test('an error is the one of its schema', async () => {
    const request = { model, input, voice: 'nobody' }
    const error = await rejection(openRouterClient(lab()).tts.createSpeech({ speechRequest: request }))
    expect(error).toMatchObject({ name: 'BadRequestResponseError', statusCode: 400 })
  })
})
