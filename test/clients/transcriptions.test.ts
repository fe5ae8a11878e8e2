import { describe, expect, test } from 'bun:test'
import { createOpenAI } from '@ai-sdk/openai'
import { transcribe } from 'ai'
import { AzureOpenAI, BadRequestError, toFile } from 'openai'
import type { TranscriptionDiarized } from 'openai/resources/audio'
import { audioFile, inputAudio, speakWav } from '../support/recordings.ts'
import { rejection, useLab } from './lab.ts'
import { openaiClient, openRouterClient } from './sdks.ts'

globalThis.AI_SDK_LOG_WARNINGS = false

const lab = useLab()
const said = 'Hello big world. How are you?'
const wav = speakWav(said)
const model = 'sandbox/listener'

const audio = () => openaiClient(lab()).audio

describe('audio of the OpenAI SDK', () => {
  test('json', async () => {
    const reply = await audio().transcriptions.create({ model, file: audioFile(wav) })
    expect(reply.text).toBe(said)
    expect(reply.usage).toMatchObject({ type: 'duration', seconds: 2.46, cost: 0.000246 })
  })

  test('verbose_json with segments and words', async () => {
    const reply = await audio().transcriptions.create({
      model,
      file: await toFile(wav, 'speech.wav'),
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
      language: 'en',
      temperature: 0.2,
    })
    expect(reply).toMatchObject({ duration: 2.46, language: 'en', text: said })
    expect(reply.segments?.map(({ id, text, temperature }) => [id, text, temperature])).toEqual([
      [0, 'Hello big world.', 0.2],
      [1, 'How are you?', 0.2],
    ])
    expect(reply.words).toHaveLength(6)
  })

  test('srt', async () => {
    const srt = await audio().transcriptions.create({ model, file: audioFile(wav), response_format: 'srt' })
    expect(srt).toStartWith('1\n00:00:00,260 --> 00:00:01,327\nHello big world.\n')
  })

  test('a stream with logprobs', async () => {
    const stream = await audio().transcriptions.create({
      model,
      file: audioFile(wav),
      stream: true,
      include: ['logprobs'],
      chunking_strategy: { type: 'server_vad', threshold: 0.5 },
    })
    let text = ''
    let done: object = {}
    for await (const event of stream) {
      if (event.type === 'transcript.text.delta') text += event.delta
      else if (event.type === 'transcript.text.done') done = event
    }
    expect(text).toBe(said)
    expect(done).toMatchObject({ text: said, usage: { cost: 0.000246 } })
  })

  test('diarized_json with the names of known speakers', async () => {
    const reference = `data:audio/wav;base64,${Buffer.from(wav).toString('base64')}`
    const reply = (await audio().transcriptions.create({
      model,
      file: audioFile(wav),
      response_format: 'diarized_json',
      chunking_strategy: 'auto',
      known_speaker_names: ['agent', 'customer'],
      known_speaker_references: [reference, reference],
    })) as unknown as TranscriptionDiarized
    expect(reply).toMatchObject({ task: 'transcribe', duration: 2.46, text: said })
    expect(reply.usage).toMatchObject({ type: 'duration', cost: 0.000246 })
    const type = 'transcript.text.segment'
    expect(reply.segments).toEqual([
      { id: 'seg_1', type, start: 0.26, end: 1.327, text: 'Hello big world.', speaker: 'agent' },
      { id: 'seg_2', type, start: 1.393, end: 2.193, text: 'How are you?', speaker: 'customer' },
    ])
  })

  test('a stream of diarized_json has an event for each segment', async () => {
    const stream = await audio().transcriptions.create({
      model,
      file: audioFile(wav),
      response_format: 'diarized_json',
      stream: true,
    })
    const events = await Array.fromAsync(stream)
    expect(
      events.flatMap((event) => (event.type === 'transcript.text.segment' ? [event] : [])),
    ).toMatchObject([
      { id: 'seg_1', speaker: 'A', text: 'Hello big world.', start: 0.26, end: 1.327 },
      { id: 'seg_2', speaker: 'B', text: 'How are you?' },
    ])
    const deltas = events.flatMap((event) => (event.type === 'transcript.text.delta' ? [event.delta] : []))
    expect(deltas.join('')).toBe(said)
    expect(events.at(-1)).toMatchObject({ type: 'transcript.text.done', text: said })
  })

  test('an error within a stream', async () => {
    const prompt = 'sandbox:fail=2'
    const stream = await audio().transcriptions.create({ model, file: audioFile(wav), stream: true, prompt })
    const error = await rejection(Array.fromAsync(stream))
    expect(error).toMatchObject({ message: expect.stringContaining('directed to fail') })
  })

  test('a translation', async () => {
    const reply = await audio().translations.create({ model, file: audioFile(wav) })
    expect(reply.text).toBe(said)
    const vtt = await audio().translations.create({ model, file: audioFile(wav), response_format: 'vtt' })
    expect(vtt).toStartWith('WEBVTT\n')
  })

  test('a file that is not what its name says is an error of the SDK', async () => {
    const file = audioFile(wav, 'speech.mp3', '')
    const error = await rejection(audio().transcriptions.create({ model, file }))
    expect(error).toBeInstanceOf(BadRequestError)
    expect(error).toMatchObject({ param: 'file', message: expect.stringContaining('is wav') })
  })
})

test('transcribe() of the AI SDK', async () => {
  const provider = createOpenAI({ baseURL: `${lab().url}/v1`, apiKey: lab().key })
  const result = await transcribe({
    model: provider.transcription(model),
    audio: wav,
    providerOptions: { openai: { responseFormat: 'verbose_json', timestampGranularities: ['segment'] } },
  })
  expect(result.text).toBe(said)
  expect(result.durationInSeconds).toBe(2.46)
  expect(result.language).toBe('en')
  expect(result.segments).toEqual([
    { text: 'Hello big world.', startSecond: 0.26, endSecond: 1.327 },
    { text: 'How are you?', startSecond: 1.393, endSecond: 2.193 },
  ])
})

describe('stt of the OpenRouter SDK', () => {
  test('JSON', async () => {
    const reply = await openRouterClient(lab()).stt.createTranscription({
      sttRequest: {
        model,
        inputAudio: inputAudio(wav),
        responseFormat: 'verbose_json',
        timestampGranularities: ['word', 'segment'],
      },
    })
    expect(reply).toMatchObject({ text: said, duration: 2.46, usage: { seconds: 2.46, cost: 0.000246 } })
    expect(reply.segments?.[0]).toMatchObject({ id: 0, avgLogprob: 0, text: 'Hello big world.' })
  })

  test('a form', async () => {
    const reply = await openRouterClient(lab()).stt.createTranscriptionMultipart({
      requestBody: {
        model,
        file: audioFile(wav),
        sessionId: 'morning',
        trace: JSON.stringify({ traceId: 'one' }),
      },
    })
    expect(reply.text).toBe(said)
  })
})

test('the Azure client sends the model as the deployment', async () => {
  const client = new AzureOpenAI({
    endpoint: lab().url,
    apiKey: lab().key,
    apiVersion: '2025-04-01-preview',
    maxRetries: 0,
    deployment: model,
  })
  const reply = await client.audio.transcriptions.create({ model: 'whisper-1', file: audioFile(wav) })
  expect(reply.text).toBe(said)
})
