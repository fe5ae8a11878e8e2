import { greyPixelPng } from '../../../src/catalog/providers/sandbox/media.ts'
import { audioFile, inputAudio, silentWav } from '../../support/recordings.ts'
import {
  type CoverageCase,
  caseOf,
  type PlantedRequest,
  streamWithField,
  toBase64,
  toForm,
  type WayIn,
} from './way-in.ts'

const wav = silentWav(1)
const pixel = new File([Buffer.from(greyPixelPng, 'base64')], 'a.png', { type: 'image/png' })
const picture = (url: string) => ({ type: 'image_url', image_url: { url } })
const link = (canary: string) => `https://example.com/${canary}.png`
const options = (slug: string, fields: object) => ({ provider: { options: { [slug]: fields } } })

function formCase(place: string, part: string, build: (canary: string) => FormData): CoverageCase {
  return { place, part, plant: (canary) => ({ body: build(canary) }) }
}

const embed = (fields: object) => ({ model: 'test/embeddings', input: 'Hello', ...fields })
const embedPart = (part: object) => ({ model: 'test/voyage-embeddings', input: [{ content: [part] }] })
const rank = (fields: object) => ({ model: 'test/rerank', query: 'q', documents: ['a', 'b'], ...fields })
const moderate = (fields: object) => ({ model: 'test/moderations', input: 'Hello', ...fields })
const draw = (fields: object) => ({ model: 'test/images', prompt: 'A fox', ...fields })
const speak = (fields: object) => ({
  model: 'test/speech',
  input: 'Hello',
  voice: 'alloy',
  response_format: 'mp3',
  ...fields,
})
const film = (fields: object) => ({ model: 'test/video', prompt: 'A fox', ...fields })
const edit = (fields: Record<string, string>) =>
  toForm({ model: 'test/images', prompt: 'A fox', ...fields, image: pixel })
const transcribe = (fields: Record<string, string>) =>
  toForm({ model: 'test/transcriptions', ...fields, file: audioFile(wav) })
const recorded = (fields: object) => ({
  model: 'test/transcriptions',
  input_audio: inputAudio(wav),
  ...fields,
})

export const mediaWays: WayIn[] = [
  {
    name: 'embeddings',
    operation: 'createEmbeddings',
    path: '/v1/embeddings',
    cases: [
      caseOf('text', 'text', (input) => embed({ input })),
      caseOf('text in a list', 'text', (canary) => embed({ input: ['a', canary] })),
      caseOf('text part', 'text', (text) => embed({ input: [{ content: [{ type: 'text', text }] }] })),
      caseOf('URL of an image', 'url', (canary) => embedPart(picture(link(canary)))),
      caseOf('purpose of the embeddings', 'parameter', (input_type) => embed({ input_type })),
      caseOf('id of the end user', 'parameter', (user) => embed({ user })),
      caseOf('field of the provider', 'parameter', (canary) => embed({ extra: { deep: [canary] } })),
    ],
  },
  {
    name: 'rerank',
    operation: 'rerankDocuments',
    path: '/v1/rerank',
    cases: [
      caseOf('query', 'text', (query) => rank({ query })),
      caseOf('document', 'text', (canary) => rank({ documents: ['a', canary] })),
      caseOf('document as an object', 'text', (text) => rank({ documents: [{ text }, 'b'] })),
      caseOf('field of the provider', 'parameter', (canary) => rank({ extra: { deep: [canary] } })),
    ],
  },
  {
    name: 'moderations',
    operation: 'createModeration',
    path: '/v1/moderations',
    cases: [
      caseOf('text', 'text', (input) => moderate({ input })),
      caseOf('text in a list', 'text', (canary) => moderate({ input: ['a', canary] })),
      caseOf('text part', 'text', (text) => moderate({ input: [{ type: 'text', text }] })),
      caseOf('URL of an image', 'url', (canary) => moderate({ input: [picture(link(canary))] })),
      caseOf('field of a part', 'parameter', (note) =>
        moderate({ input: [{ type: 'text', text: 'a', note }] }),
      ),
    ],
  },
  {
    name: 'images',
    operation: 'createImages',
    path: '/v1/images/generations',
    stream: streamWithField,
    cases: [
      caseOf('prompt', 'text', (prompt) => draw({ prompt })),
      caseOf('id of the end user', 'parameter', (user) => draw({ user })),
      caseOf('field of the provider', 'parameter', (style) => draw({ style })),
      caseOf('option for the provider', 'parameter', (canary) =>
        draw(options('one-images', { style_preset: canary })),
      ),
    ],
  },
  {
    name: 'image edits (form)',
    operation: 'editImages',
    path: '/v1/images/edits',
    cases: [
      formCase('prompt', 'text', (prompt) => edit({ prompt })),
      formCase('id of the end user', 'parameter', (user) => edit({ user })),
    ],
  },
  {
    name: 'speech',
    operation: 'createSpeech',
    path: '/v1/audio/speech',
    stream: ({ body }: PlantedRequest) => ({ body: { ...body, stream_format: 'sse' } }),
    cases: [
      caseOf('text', 'text', (input) => speak({ input })),
      caseOf('instructions', 'text', (instructions) => speak({ instructions })),
      caseOf('name of a voice', 'parameter', (voice) => speak({ voice })),
      caseOf('id of a custom voice', 'parameter', (id) => speak({ voice: { id } })),
      caseOf('option for the provider', 'parameter', (canary) =>
        speak(options('one-speech', { note: canary })),
      ),
      caseOf('transcript of a reference', 'text', (text) =>
        speak({
          input_references: [
            { type: 'input_audio', input_audio: { data: toBase64(wav), format: 'wav' } },
            { type: 'text', text },
          ],
        }),
      ),
    ],
  },
  {
    name: 'transcriptions (form)',
    operation: 'createTranscription',
    path: '/v1/audio/transcriptions',
    cases: [
      formCase('prompt', 'text', (prompt) => transcribe({ prompt })),
      formCase('language', 'parameter', (language) => transcribe({ language })),
      formCase('field of the provider', 'parameter', (canary) => transcribe({ 'keywords[]': canary })),
      formCase('option for the provider', 'parameter', (canary) =>
        transcribe({
          provider: JSON.stringify(options('one-transcriptions', { keywords: [canary] }).provider),
        }),
      ),
    ],
  },
  {
    name: 'transcriptions (JSON)',
    operation: 'createTranscription',
    path: '/v1/audio/transcriptions',
    stream: streamWithField,
    cases: [
      caseOf('prompt', 'text', (prompt) => recorded({ prompt })),
      caseOf('name of a known speaker', 'parameter', (canary) =>
        recorded({
          known_speaker_names: [canary],
          known_speaker_references: ['data:audio/wav;base64,UklGRg=='],
        }),
      ),
    ],
  },
  {
    name: 'translations of recordings',
    operation: 'createTranslation',
    path: '/v1/audio/translations',
    cases: [formCase('prompt', 'text', (prompt) => transcribe({ prompt }))],
  },
  {
    name: 'videos',
    operation: 'createVideo',
    path: '/v1/videos',
    cases: [
      caseOf('prompt', 'text', (prompt) => film({ prompt })),
      caseOf('URL of a frame', 'url', (canary) =>
        film({ frame_images: [{ ...picture(link(canary)), frame_type: 'first_frame' }] }),
      ),
      caseOf('option for the provider', 'parameter', (canary) =>
        film(options('one-video', { mood: canary })),
      ),
    ],
  },
]
