import { describe, expect, test } from 'bun:test'
import type { FormField } from '../../platform/http/form-encode.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { TranscriptionCall } from '../call/transcription.ts'
import { zeroUsage } from '../call/usage.ts'
import type { MediaUpstreamRequest } from '../media.ts'
import { deepgramTranscriptions } from './deepgram.ts'
import { elevenlabsTranscriptions } from './elevenlabs.ts'
import { mistralTranscriptions } from './mistral.ts'
import { openaiTranscriptions } from './openai.ts'
import type { TranscriptionWireFormat } from './wire-format.ts'
import { xaiTranscriptions } from './xai.ts'

const recording = {
  bytes: new Uint8Array([1, 2, 3]),
  format: 'mp3',
  filename: 'audio.mp3',
  mediaType: 'audio/mpeg',
  durationMs: 4000,
  maxDurationMs: 4000,
} as const

const plain: TranscriptionCall = {
  task: 'transcribe',
  recording,
  format: 'json',
  stream: false,
  timestamps: [],
  unknown: {},
}
const full: TranscriptionCall = {
  ...plain,
  format: 'verbose_json',
  timestamps: ['word', 'segment'],
  language: 'de',
  prompt: 'Umlaute',
  temperature: 0.2,
  chunking: { type: 'server_vad', threshold: 0.4 },
  unknown: { mood: 'sunny' },
}
const seconds = (quantity: number) => [
  { billable: 'input_audio' as const, unit: 'second' as const, quantity, variants: [] },
]

/** The fields of a form, in their order. */
function readForm({ body }: MediaUpstreamRequest): [string, unknown][] {
  return (body as FormField[]).map((field) => [field.name, 'bytes' in field ? field.filename : field.value])
}

function encode(wireFormat: TranscriptionWireFormat, call: TranscriptionCall, options: JsonObject = {}) {
  return wireFormat.encodeRequest(call, { model: 'vendor-model', options })
}

function readEvents({ createReader }: TranscriptionWireFormat, events: object[]) {
  const reader = createReader?.(plain)
  return events.flatMap((event) => reader?.read({ event: '', data: JSON.stringify(event) }) ?? [])
}

describe('OpenAI', () => {
  test('a plain request, and one with every field', () => {
    const request = encode(openaiTranscriptions, plain)
    expect(request).toMatchObject({ path: '/audio/transcriptions', dropped: [] })
    expect(readForm(request)).toEqual([
      ['file', 'audio.mp3'],
      ['model', 'vendor-model'],
      ['response_format', 'json'],
    ])
    const whole = encode(openaiTranscriptions, full, { keywords: ['a', 'b'] })
    expect(readForm(whole)).toEqual([
      ['file', 'audio.mp3'],
      ['keywords[]', 'a'],
      ['keywords[]', 'b'],
      ['model', 'vendor-model'],
      ['prompt', 'Umlaute'],
      ['temperature', '0.2'],
      ['response_format', 'verbose_json'],
      ['language', 'de'],
      ['timestamp_granularities[]', 'word'],
      ['timestamp_granularities[]', 'segment'],
      ['chunking_strategy', '{"type":"server_vad","threshold":0.4}'],
    ])
    expect(whole.dropped).toEqual(['mood'])
  })

  test('options that clients send as fields', () => {
    const request = encode(openaiTranscriptions, {
      ...plain,
      unknown: { languages: ['de', 'en'], mood: 'sunny' },
    })
    expect(readForm(request).slice(1, 3)).toEqual([
      ['languages[]', 'de'],
      ['languages[]', 'en'],
    ])
    expect(request.dropped).toEqual(['mood'])
    expect(encode(mistralTranscriptions, { ...plain, unknown: { languages: ['de'] } }).dropped).toEqual([
      'languages',
    ])
  })

  test('options cannot replace fields of the request', () => {
    const form = readForm(encode(openaiTranscriptions, plain, { model: 'dearer', response_format: 'srt' }))
    expect(form).toContainEqual(['model', 'vendor-model'])
    expect(form).not.toContainEqual(['model', 'dearer'])
  })

  test('a translation, and a stream with logprobs', () => {
    const translation = encode(openaiTranscriptions, { ...plain, task: 'translate', format: 'srt' })
    expect(translation.path).toBe('/audio/translations')
    expect(readForm(translation)).toContainEqual(['response_format', 'verbose_json'])
    const stream = readForm(encode(openaiTranscriptions, { ...plain, stream: true, logprobs: true }))
    expect(stream.slice(3)).toEqual([
      ['include[]', 'logprobs'],
      ['stream', 'true'],
    ])
  })

  test('R9 tokens are in their buckets', () => {
    const reply = openaiTranscriptions.decodeReply(
      {
        text: 'Hello.',
        logprobs: [{ token: 'Hello', logprob: -0.1, bytes: [72] }],
        usage: {
          type: 'tokens',
          input_tokens: 47,
          input_token_details: { audio_tokens: 40, text_tokens: 7 },
          output_tokens: 5,
          total_tokens: 52,
        },
      },
      plain,
    )
    expect(reply?.usage).toEqual({ ...zeroUsage, inputAudio: 40, input: 7, output: 5 })
    expect(reply).toMatchObject({ logprobs: [{ token: 'Hello' }], duration: null, units: seconds(4000) })
  })

  test('the seconds that the vendor bills are those of its usage', () => {
    const body = { text: 'Hello.', duration: 3.2, usage: { type: 'duration', seconds: 4 } }
    expect(openaiTranscriptions.decodeReply(body, plain)).toMatchObject({
      duration: 3.2,
      usage: zeroUsage,
      units: seconds(4000),
    })
    // Older servers send the duration as a text, and no usage.
    expect(openaiTranscriptions.decodeReply({ text: 'a', duration: '3.21' }, plain)).toMatchObject({
      duration: 3.21,
      units: seconds(3210),
    })
    expect(openaiTranscriptions.decodeReply({ text: 'a', x_groq: { id: 'req' } }, plain)).toMatchObject({
      usage: null,
      units: seconds(4000),
    })
  })

  test('segments and words; what has no times is not one', () => {
    const segment = { id: 0, seek: 3, start: 0, end: 1.5, text: ' Hello.', tokens: [1], avg_logprob: -0.3 }
    const reply = openaiTranscriptions.decodeReply(
      {
        text: 'Hello.',
        language: 'english',
        segments: [
          { ...segment, compression_ratio: 0.8, no_speech_prob: 0.01, temperature: 0 },
          { text: 'x' },
        ],
        words: [
          { word: 'Hello', start: 0.1, end: 1.4 },
          { word: 'x', start: Number.NaN },
        ],
      },
      full,
    )
    expect(reply?.segments).toEqual([
      {
        start: 0,
        end: 1.5,
        text: ' Hello.',
        seek: 3,
        tokens: [1],
        temperature: 0,
        avgLogprob: -0.3,
        compressionRatio: 0.8,
        noSpeechProb: 0.01,
      },
    ])
    expect(reply?.words).toEqual([{ word: 'Hello', start: 0.1, end: 1.4 }])
  })

  test('a reply without a text is not one', () => {
    expect(openaiTranscriptions.decodeReply({ request_id: 'a' }, plain)).toBeNull()
  })

  test('a stream', () => {
    const usage = {
      type: 'tokens',
      input_tokens: 40,
      input_token_details: { audio_tokens: 40 },
      output_tokens: 2,
    }
    expect(
      readEvents(openaiTranscriptions, [
        { type: 'transcript.text.delta', delta: 'Hel' },
        { type: 'transcript.text.delta', delta: 'lo', logprobs: [{ token: 'lo' }] },
        { type: 'transcript.text.segment', id: 'seg_1', speaker: 'A', start: 0, end: 1, text: 'Hello' },
        { type: 'transcript.text.done', text: 'Hello', usage },
      ]),
    ).toMatchObject([
      { type: 'delta', text: 'Hel' },
      { type: 'delta', text: 'lo', logprobs: [{ token: 'lo' }] },
      { type: 'segment', segment: { id: 'seg_1', speakerName: 'A', start: 0, end: 1, text: 'Hello' } },
      { type: 'done', reply: { text: 'Hello', usage: { inputAudio: 40, output: 2 } } },
    ])
    const error = { error: { message: 'The server had an error', type: 'server_error' } }
    expect(readEvents(openaiTranscriptions, [error])).toMatchObject([
      { type: 'error', failure: { kind: 'provider_unavailable' } },
    ])
    expect(openaiTranscriptions.createReader?.(plain).read({ event: '', data: '[DONE]' })).toEqual([])
  })
})

describe('Mistral', () => {
  test('a request: only its own fields, and no language with times', () => {
    const timed = encode(mistralTranscriptions, full)
    expect(readForm(timed)).toEqual([
      ['file', 'audio.mp3'],
      ['model', 'vendor-model'],
      ['temperature', '0.2'],
      ['timestamp_granularities', 'segment'],
    ])
    expect(timed.dropped).toEqual([
      'mood',
      'prompt',
      'chunking_strategy',
      'language',
      'timestamp_granularities',
    ])
    expect(readForm(encode(mistralTranscriptions, { ...plain, language: 'de' }))).toContainEqual([
      'language',
      'de',
    ])
  })

  test('a whole reply and a stream', () => {
    const body = {
      model: 'voxtral-mini-2602',
      text: 'Bonjour.',
      language: 'fr',
      segments: [
        { type: 'transcription_segment', text: 'Bonjour.', start: 0, end: 1.1, speaker_id: 'speaker_2' },
      ],
      usage: { prompt_audio_seconds: 4, prompt_tokens: 12, completion_tokens: 30, total_tokens: 42 },
    }
    expect(mistralTranscriptions.decodeReply(body, full)).toMatchObject({
      text: 'Bonjour.',
      language: 'fr',
      duration: 4,
      segments: [{ text: 'Bonjour.', start: 0, end: 1.1, speaker: 2 }],
      usage: { input: 12, output: 30 },
      units: seconds(4000),
    })
    const { language: _language, segments: _segments, ...done } = body
    expect(
      readEvents(mistralTranscriptions, [
        { type: 'transcription.language', audio_language: 'fr' },
        { type: 'transcription.text.delta', text: 'Bonjour' },
        { type: 'transcription.segment', text: 'Bonjour.', start: 0, end: 1 },
        { type: 'transcription.done', ...done },
      ]),
    ).toMatchObject([
      { type: 'delta', text: 'Bonjour' },
      { type: 'segment', segment: { text: 'Bonjour.', start: 0, end: 1 } },
      { type: 'done', reply: { text: 'Bonjour.', language: 'fr', duration: 4 } },
    ])
  })
})

describe('ElevenLabs', () => {
  test('a request', () => {
    const request = encode(elevenlabsTranscriptions, full, { diarize: true })
    expect(request.path).toBe('/speech-to-text')
    expect(readForm(request)).toEqual([
      ['file', 'audio.mp3'],
      ['diarize', 'true'],
      ['model_id', 'vendor-model'],
      ['language_code', 'de'],
      ['temperature', '0.2'],
      ['timestamps_granularity', 'word'],
    ])
    expect(request.dropped).toEqual(['mood', 'prompt', 'chunking_strategy'])
  })

  test('words become segments: sentences of one speaker', () => {
    const word = (text: string, start: number, end: number, speaker_id = 'speaker_0') => ({
      text,
      start,
      end,
      type: 'word',
      speaker_id,
      logprob: 0,
    })
    const space = (start: number) => ({ text: ' ', start, end: start + 0.1, type: 'spacing' })
    const reply = elevenlabsTranscriptions.decodeReply(
      {
        language_code: 'eng',
        language_probability: 0.98,
        text: 'Hello there. Yes? No',
        words: [
          word('Hello', 0, 0.5),
          space(0.5),
          word('there.', 0.6, 1),
          space(1),
          word('Yes?', 1.1, 1.4, 'speaker_1'),
          space(1.4),
          word('No', 1.5, 1.7),
        ],
      },
      full,
    )
    expect(reply?.segments).toEqual([
      { start: 0, end: 1, speaker: 0, text: 'Hello there.' },
      { start: 1.1, end: 1.4, speaker: 1, text: 'Yes?' },
      { start: 1.5, end: 1.7, speaker: 0, text: 'No' },
    ])
    expect(reply?.words).toHaveLength(4)
    expect(reply?.words[0]).toEqual({ word: 'Hello', start: 0, end: 0.5, speaker: 0, confidence: 1 })
    expect(reply).toMatchObject({ language: 'eng', usage: null, units: seconds(4000) })
  })

  test('errors', () => {
    const body = { detail: { status: 'quota_exceeded', message: 'This request exceeds your quota.' } }
    expect(elevenlabsTranscriptions.decodeError(401, body)).toMatchObject({
      kind: 'authentication',
      message: 'This request exceeds your quota.',
      code: 'quota_exceeded',
    })
    const invalid = { detail: [{ loc: ['body', 'model_id'], msg: 'field required', type: 'missing' }] }
    expect(elevenlabsTranscriptions.decodeError(422, invalid)).toMatchObject({
      kind: 'unprocessable',
      message: 'body.model_id: field required',
    })
  })
})

describe('xAI', () => {
  test('a request: the recording is the last field', () => {
    const request = encode(xaiTranscriptions, full, { diarize: true, keyterm: ['Graz', 'Ljubljana'] })
    expect(request.path).toBe('/stt')
    expect(readForm(request)).toEqual([
      ['diarize', 'true'],
      ['model', 'vendor-model'],
      ['language', 'de'],
      ['keyterm', 'Graz'],
      ['keyterm', 'Ljubljana'],
      ['file', 'audio.mp3'],
    ])
    expect(request.dropped).toEqual(['mood', 'prompt', 'temperature', 'chunking_strategy'])
  })

  test('a reply with words', () => {
    const word = (value: string, start: number, end: number) => ({ text: value, start, end, speaker: 0 })
    const reply = xaiTranscriptions.decodeReply(
      {
        text: 'Hello there. Yes?',
        language: 'en',
        duration: 3.5,
        words: [word('Hello', 0, 0.5), word('there.', 0.6, 1), word('Yes?', 1.1, 1.4)],
      },
      full,
    )
    expect(reply).toMatchObject({
      text: 'Hello there. Yes?',
      language: 'en',
      duration: 3.5,
      segments: [
        { start: 0, end: 1, speaker: 0, text: 'Hello there.' },
        { start: 1.1, end: 1.4, speaker: 0, text: 'Yes?' },
      ],
      words: [{ word: 'Hello', start: 0, end: 0.5 }, { word: 'there.' }, { word: 'Yes?' }],
      units: seconds(3500),
    })
    expect(xaiTranscriptions.decodeReply({}, full)).toBeNull()
  })
})

describe('Deepgram', () => {
  test('the recording is the body, and the rest is in the query', () => {
    const request = encode(deepgramTranscriptions, full, { diarize: true, smart_format: false })
    expect(request).toMatchObject({
      path: '/listen?smart_format=false&diarize=true&model=vendor-model&language=de&utterances=true',
      headers: { 'content-type': 'audio/mpeg' },
      body: recording.bytes,
      dropped: ['mood', 'prompt', 'temperature', 'chunking_strategy'],
    })
    expect(encode(deepgramTranscriptions, plain).path).toBe(
      '/listen?smart_format=true&model=vendor-model&detect_language=true',
    )
  })

  test('a reply with utterances', () => {
    const word = {
      word: 'hello',
      start: 0.1,
      end: 0.4,
      confidence: 0.99,
      speaker: 1,
      punctuated_word: 'Hello.',
    }
    const reply = deepgramTranscriptions.decodeReply(
      {
        metadata: { request_id: 'r', duration: 3.75, channels: 1 },
        results: {
          channels: [
            {
              detected_language: 'en',
              alternatives: [{ transcript: 'Hello.', confidence: 0.98, words: [word] }],
            },
          ],
          utterances: [
            { start: 0.1, end: 0.4, confidence: 1, transcript: 'Hello.', speaker: 1, words: [word] },
          ],
        },
      },
      full,
    )
    expect(reply).toEqual({
      text: 'Hello.',
      language: 'en',
      duration: 3.75,
      confidence: 0.98,
      segments: [{ start: 0.1, end: 0.4, speaker: 1, text: 'Hello.', avgLogprob: 0 }],
      words: [{ word: 'Hello.', start: 0.1, end: 0.4, speaker: 1, confidence: 0.99 }],
      usage: zeroUsage,
      units: seconds(3750),
    })
    expect(deepgramTranscriptions.decodeReply({ request_id: 'asynchronous' }, full)).toBeNull()
  })

  test('errors', () => {
    const invalid = { err_code: 'INVALID_AUTH', err_msg: 'Invalid credentials.', request_id: 'r' }
    expect(deepgramTranscriptions.decodeError(401, invalid)).toMatchObject({
      kind: 'authentication',
      message: 'Invalid credentials.',
    })
    const corrupt = { err_code: 'Bad Request', err_msg: 'Bad Request: failed to process audio: corrupt data' }
    expect(deepgramTranscriptions.decodeError(400, corrupt)).toMatchObject({ kind: 'invalid_request' })
    const poor = { err_code: 'ASR_PAYMENT_REQUIRED', err_msg: 'Project does not have enough credits.' }
    expect(deepgramTranscriptions.decodeError(402, poor)).toMatchObject({ kind: 'payment_required' })
  })
})
