import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { parseWav } from '../../platform/media/wav.ts'
import type { SpeechCall, SpeechEvent } from '../call/speech.ts'
import { deepgramSpeech } from './deepgram.ts'
import { elevenLabsSpeech } from './elevenlabs.ts'
import { geminiSpeech } from './gemini.ts'
import { minimaxSpeech } from './minimax.ts'
import { mistralSpeech } from './mistral.ts'
import { speech } from './openai.ts'

const call: SpeechCall = { input: 'Hello', format: 'pcm', delivery: 'audio', voice: 'Kore', unknown: [] }

function collect(events: Iterable<SpeechEvent>): { types: string[]; audio: Buffer } {
  const all = [...events]
  const audio = all.flatMap((event) => (event.type === 'audio-delta' ? [event.bytes] : []))
  return { types: all.map(({ type }) => type), audio: Buffer.concat(audio) }
}

describe('a reply that is the audio itself', () => {
  test('is read as it is, with the sample rate of its type', () => {
    const reader = deepgramSpeech.createReader('audio/l16;rate=16000')
    const bytes = Buffer.from([1, 2, 3])
    expect(reader?.read(bytes)).toEqual([{ type: 'audio-delta', bytes, sampleRate: 16_000 }])
    expect(reader?.end()).toEqual([{ type: 'reply-end' }])
  })

  test('is not JSON or text', () => {
    for (const wireFormat of [speech, elevenLabsSpeech, deepgramSpeech]) {
      for (const type of ['application/json', 'application/problem+json', 'text/html'])
        expect(wireFormat.createReader(type)).toBeNull()
      for (const type of ['audio/mpeg', 'application/octet-stream', ''])
        expect(wireFormat.createReader(type)).not.toBeNull()
    }
  })
})

describe('a reply in events', () => {
  const frame = (event: object) => `data: ${JSON.stringify(event)}\n\n`
  const read = (text: string, splitAt = text.length) => {
    const reader = speech.createReader('text/event-stream; charset=utf-8')
    if (!reader) throw new Error('no reader')
    const bytes = Buffer.from(text)
    const parts = [bytes.subarray(0, splitAt), bytes.subarray(splitAt)]
    return [...parts.flatMap((part) => reader.read(part)), ...reader.end()]
  }
  const delta = frame({ type: 'speech.audio.delta', audio: Buffer.from('abc').toString('base64') })
  const usage = { input_tokens: 14, output_tokens: 101, total_tokens: 115 }
  const done = frame({ type: 'speech.audio.done', usage })

  test('is the same wherever it is split', () => {
    for (let at = 0; at < (delta + done).length; at += 7) {
      const events = read(delta + done, at)
      expect(collect(events)).toEqual({
        types: ['audio-delta', 'usage', 'reply-end'],
        audio: Buffer.from('abc'),
      })
      expect(events[1]).toMatchObject({ usage: { input: 14, outputAudio: 101, output: 0 } })
    }
  })

  test('is incomplete without the last event, and fails with an error event', () => {
    expect(collect(read(delta)).types).toEqual(['audio-delta'])
    expect(collect(read(delta + done.slice(0, -10))).types).toEqual(['audio-delta'])
    const [error] = read(frame({ type: 'error', error: { message: 'busy', code: 'rate_limit_exceeded' } }))
    expect(error).toMatchObject({
      type: 'reply-error',
      failure: { kind: 'rate_limit_exceeded', message: 'busy' },
    })
  })

  test('may have events without usage, comments and unknown events', () => {
    const text = `: ping\n\n${frame({ type: 'speech.later' })}data: [DONE]\n\n${frame({ type: 'speech.audio.done' })}`
    expect(collect(read(text)).types).toEqual(['reply-end'])
  })
})

describe('a reply of Gemini', () => {
  const samples = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251))
  const body = (inlineData: object, more: object = {}): JsonObject => ({
    candidates: [{ content: { parts: [{ inlineData }], role: 'model' }, finishReason: 'STOP', index: 0 }],
    usageMetadata: {
      promptTokenCount: 9,
      candidatesTokenCount: 67,
      totalTokenCount: 76,
      candidatesTokensDetails: [{ modality: 'AUDIO', tokenCount: 67 }],
    },
    ...more,
  })
  const audio = { mimeType: 'audio/L16;codec=pcm;rate=24000', data: samples.toString('base64') }

  test('has samples, decoded piece by piece, and usage before them', () => {
    const events = [...(geminiSpeech.decodeReply(body(audio), call) ?? [])]
    expect(events[0]).toMatchObject({ type: 'usage', usage: { input: 9, outputAudio: 67 } })
    expect(events[1]).toMatchObject({ sampleRate: 24_000 })
    expect(events.length).toBeGreaterThan(4)
    expect(collect(events).audio).toEqual(samples)
    expect(events.at(-1)).toEqual({ type: 'reply-end' })
  })

  test('is a WAV file on request', () => {
    const events = geminiSpeech.decodeReply(body({ ...audio, mimeType: 'audio/L16;rate=16000' }), {
      ...call,
      format: 'wav',
    })
    const file = parseWav(collect(events ?? []).audio)
    expect(file).toMatchObject({ sampleRate: 16_000, channels: 1, bits: 16 })
    expect(Buffer.from(file?.data ?? [])).toEqual(samples)
  })

  test.each([
    [{ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }, 'content_policy_violation'],
    [{ candidates: [{ finishReason: 'SAFETY' }] }, 'content_policy_violation'],
    [{ candidates: [{ finishReason: 'OTHER' }] }, 'provider_unavailable'],
  ])('%j is a failure', (reply, kind) => {
    const [event] = geminiSpeech.decodeReply(reply, call) ?? []
    expect(event).toMatchObject({ type: 'reply-error', failure: { kind } })
  })

  test('without a candidate is no reply', () => {
    expect(geminiSpeech.decodeReply({}, call)).toBeNull()
  })
})

describe('a reply whose audio is text', () => {
  const audio = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251))

  test.each([
    [
      'MiniMax',
      minimaxSpeech,
      { data: { audio: audio.toString('hex'), status: 2 }, base_resp: { status_code: 0 } },
    ],
    ['Mistral', mistralSpeech, { audio_data: audio.toString('base64') }],
  ] as const)('of %s is decoded piece by piece', (_name, { decodeReply }, body) => {
    const { types, audio: decoded } = collect(decodeReply(body, call) ?? [])
    expect(decoded).toEqual(audio)
    expect(types.length).toBeGreaterThan(2)
    expect(types.at(-1)).toBe('reply-end')
  })

  test.each([
    [1002, 'rate_limit_exceeded'],
    [1008, 'payment_required'],
    [1027, 'content_policy_violation'],
    [2013, 'invalid_request'],
    [2049, 'authentication'],
    [1000, 'provider_unavailable'],
  ])('of MiniMax with the code %i is a failure of kind %s, whatever its status', (status_code, kind) => {
    const base_resp = { status_code, status_msg: 'because' }
    expect([...(minimaxSpeech.decodeReply({ base_resp }, call) ?? [])]).toEqual([
      {
        type: 'reply-error',
        failure: { kind, status: null, message: 'because', code: String(status_code) },
      } as SpeechEvent,
    ])
  })

  test('without audio is no reply', () => {
    for (const { decodeReply } of [minimaxSpeech, mistralSpeech]) expect(decodeReply({}, call)).toBeNull()
  })
})

describe('errors', () => {
  test('of ElevenLabs', () => {
    const detail = { status: 'max_character_limit_exceeded', message: 'The text is too long.' }
    expect(elevenLabsSpeech.decodeError(400, { detail })).toMatchObject({
      kind: 'invalid_request',
      message: 'The text is too long.',
    })
    const problems = [{ loc: ['body', 'text'], msg: 'field required', type: 'value_error.missing' }]
    expect(elevenLabsSpeech.decodeError(422, { detail: problems })).toMatchObject({
      kind: 'unprocessable',
      message: 'body.text: field required',
    })
  })

  test('of Deepgram, in both of its forms', () => {
    const older = { err_code: 'INVALID_AUTH', err_msg: 'Invalid credentials.', request_id: 'r' }
    expect(deepgramSpeech.decodeError(401, older)).toMatchObject({
      kind: 'authentication',
      message: 'Invalid credentials.',
      code: 'INVALID_AUTH',
    })
    const newer = { category: 'INVALID_JSON', message: 'Invalid JSON submitted.', request_id: 'r' }
    expect(deepgramSpeech.decodeError(400, newer)).toMatchObject({
      kind: 'invalid_request',
      message: 'Invalid JSON submitted.',
    })
  })
})
