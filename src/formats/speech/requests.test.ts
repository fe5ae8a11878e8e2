import { describe, expect, test } from 'bun:test'
import type { SpeechCapabilities } from '../../catalog/model.ts'
import type { SpeechCall } from '../call/speech.ts'
import { speechFormats } from '../vocabulary.ts'
import { speechWireFormats } from './all.ts'

const call: SpeechCall = { input: 'Hello', format: 'mp3', delivery: 'audio', voice: 'v', unknown: [] }
const demanding: SpeechCall = { ...call, speed: 1.1, instructions: 'softly', unknown: ['emotion'] }
const speech: SpeechCapabilities = {
  formats: null,
  voices: null,
  accepts_unlisted_voices: false,
  default_voice: 'Kore',
  unsupported_fields: [],
  supports_voice_cloning: false,
  reports_usage: false,
}

describe('the OpenAI format', () => {
  const encode = speechWireFormats.speech.encodeRequest

  test('has every field', () => {
    expect(encode(demanding, { model: 'tts-1', options: { seed: 1 } })).toEqual({
      path: '/audio/speech',
      headers: {},
      body: {
        seed: 1,
        model: 'tts-1',
        input: 'Hello',
        voice: 'v',
        response_format: 'mp3',
        speed: 1.1,
        instructions: 'softly',
      },
      dropped: ['emotion'],
    })
  })

  test('is without the fields that the endpoint does not support', () => {
    const without: SpeechCapabilities = { ...speech, unsupported_fields: ['instructions'] }
    const { body, dropped } = encode(demanding, { model: 'm', options: {}, speech: without })
    expect(body).not.toHaveProperty('instructions')
    expect(body).toHaveProperty('speed')
    expect(dropped).toEqual(['emotion', 'instructions'])
  })

  test('has an id for a custom voice, and the default for none', () => {
    const custom = encode({ ...call, isCustomVoice: true }, { model: 'm', options: {} })
    expect(custom.body).toMatchObject({ voice: { id: 'v' } })
    const { voice: _, ...unnamed } = call
    expect(encode(unnamed, { model: 'm', options: {}, speech }).body).toMatchObject({ voice: 'Kore' })
  })
})

describe('the ElevenLabs format', () => {
  const encode = speechWireFormats['elevenlabs-speech'].encodeRequest

  test('has the voice in the path, the format in the query and the speed in the settings', () => {
    const options = { voice_settings: { stability: 0.4 }, language_code: 'de', text: 'something longer' }
    expect(encode({ ...demanding, voice: 'a/b' }, { model: 'eleven_flash_v2_5', options })).toEqual({
      path: '/text-to-speech/a%2Fb/stream?output_format=mp3_44100_128',
      headers: {},
      body: {
        voice_settings: { stability: 0.4, speed: 1.1 },
        language_code: 'de',
        text: 'Hello',
        model_id: 'eleven_flash_v2_5',
      },
      dropped: ['emotion', 'instructions'],
    })
  })

  test('sends no settings that were not requested', () => {
    expect(encode(call, { model: 'm', options: {} }).body).toEqual({ text: 'Hello', model_id: 'm' })
  })
})

describe('the Deepgram format', () => {
  const encode = speechWireFormats['deepgram-speech'].encodeRequest
  const pathOf = (more: Partial<SpeechCall>, options = {}) =>
    encode({ ...call, ...more }, { model: 'aura-2', options }).path

  test('has everything but the text in the query', () => {
    const request = encode(
      { ...demanding, voice: 'thalia-en', format: 'pcm' },
      { model: 'aura-2', options: { mip_opt_out: true } },
    )
    expect(request).toEqual({
      path: '/speak?model=aura-2-thalia-en&encoding=linear16&container=none&sample_rate=24000&speed=1.1&mip_opt_out=true',
      headers: {},
      body: { text: 'Hello' },
      dropped: ['emotion', 'instructions'],
    })
  })

  test('accepts the whole name of a voice', () => {
    expect(pathOf({ voice: 'aura-2-thalia-en' })).toBe('/speak?model=aura-2-thalia-en&encoding=mp3')
    expect(pathOf({ voice: 'x&y=1', format: 'opus' })).toBe(
      '/speak?model=aura-2-x%26y%3D1&encoding=opus&container=ogg',
    )
  })

  test.each(['2-thalia-en', 'aura-2-thalia-en'])('has no voice of another family: %s', (voice) => {
    expect(() => encode({ ...call, voice }, { model: 'aura', options: {} })).toThrow(
      'voice: must be a voice of aura, such as aura-thalia-en',
    )
  })
})

describe('the Gemini format', () => {
  const encode = speechWireFormats['gemini-speech'].encodeRequest

  test('asks for audio alone', () => {
    const options = { generationConfig: { temperature: 1, responseModalities: ['TEXT'] }, contents: [] }
    const { voice: _, ...unnamed } = demanding
    expect(encode(unnamed, { model: 'gemini-2.5-flash-preview-tts', options, speech })).toEqual({
      path: '/models/gemini-2.5-flash-preview-tts:generateContent',
      headers: {},
      body: {
        contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
        generationConfig: {
          temperature: 1,
          responseModalities: ['AUDIO'],
          speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
        },
      },
      dropped: ['emotion', 'instructions', 'speed'],
    })
  })
})

describe('the MiniMax format', () => {
  const encode = speechWireFormats['minimax-speech'].encodeRequest

  test('has voice and speed in the settings of the voice, and the format in those of the audio', () => {
    const options = {
      voice_setting: { emotion: 'happy', voice_id: 'other' },
      audio_setting: { bitrate: 64000 },
    }
    expect(encode(demanding, { model: 'speech-2.6-hd', options })).toEqual({
      path: '/t2a_v2',
      headers: {},
      body: {
        model: 'speech-2.6-hd',
        text: 'Hello',
        stream: false,
        output_format: 'hex',
        voice_setting: { emotion: 'happy', voice_id: 'v', speed: 1.1 },
        audio_setting: { bitrate: 64000, format: 'mp3' },
      },
      dropped: ['emotion', 'instructions'],
    })
  })

  test('asks for the sample rate that clients expect of PCM', () => {
    const { body } = encode({ ...call, format: 'pcm' }, { model: 'm', options: {} })
    expect(body).toMatchObject({ audio_setting: { format: 'pcm', sample_rate: 24_000, channel: 1 } })
  })
})

describe('the Mistral format', () => {
  const encode = speechWireFormats['mistral-speech'].encodeRequest

  test('has the id of the voice, or a recording to imitate', () => {
    expect(encode(demanding, { model: 'voxtral-mini-tts-2603', options: { expressiveness: 3 } })).toEqual({
      path: '/audio/speech',
      headers: {},
      body: {
        expressiveness: 3,
        model: 'voxtral-mini-tts-2603',
        input: 'Hello',
        voice_id: 'v',
        response_format: 'mp3',
        stream: false,
      },
      dropped: ['emotion', 'instructions', 'speed'],
    })
    const reference = { audio: 'UklGRg==' }
    const { body } = encode({ ...call, reference }, { model: 'm', options: {} })
    expect(body).toMatchObject({ ref_audio: 'UklGRg==' })
    expect(body).not.toHaveProperty('voice_id')
  })
})

test('every format has a request for each of its formats of audio', () => {
  for (const wireFormat of Object.values(speechWireFormats)) {
    for (const format of wireFormat.formats) {
      expect(speechFormats).toContain(format)
      const { path, body } = wireFormat.encodeRequest({ ...call, format }, { model: 'm', options: {} })
      expect(path + JSON.stringify(body)).not.toContain('undefined')
    }
  }
})
