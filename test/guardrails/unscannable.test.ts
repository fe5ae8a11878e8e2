import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { greyPixelPng } from '../../src/catalog/providers/sandbox/media.ts'
import { buildPdf } from '../support/pdf.ts'
import { audioFile, inputAudio, silentWav } from '../support/recordings.ts'
import { CoverageBench } from './coverage/bench.ts'
import { toBase64, toForm } from './coverage/way-in.ts'

const wav = silentWav(1)
const pixel = `data:image/png;base64,${greyPixelPng}`
const chat = (...content: object[]) => ({ model: 'test/chat', messages: [{ role: 'user', content }] })
const messages = (...content: object[]) => ({
  model: 'test/messages',
  max_tokens: 10,
  messages: [{ role: 'user', content }],
})
const pdf = (data: Uint8Array) => ({
  type: 'file',
  file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${toBase64(data)}` },
})
const picture = { type: 'image_url', image_url: { url: pixel } }

/** Requests, and the part that the hit names. */
const cases: [string, string, string, () => object][] = [
  ['a picture', 'image', '/v1/chat/completions', () => chat(picture)],
  [
    'a recording',
    'audio',
    '/v1/chat/completions',
    () => chat({ type: 'input_audio', input_audio: inputAudio(wav) }),
  ],
  ['a damaged PDF', 'file', '/v1/chat/completions', () => chat(pdf(Buffer.from('%PDF-1.4 damaged')))],
  ['a PDF without text', 'file', '/v1/chat/completions', () => chat(pdf(buildPdf([''])))],
  [
    'a file behind a URL',
    'file',
    '/v1/messages',
    () => messages({ type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } }),
  ],
  [
    'a file at a vendor',
    'file',
    '/v1/chat/completions',
    () => chat({ type: 'file', file: { file_id: 'file-1' } }),
  ],
  ['tokens', 'tokens', '/v1/embeddings', () => ({ model: 'test/embeddings', input: [1, 2, 3] })],
  [
    'a picture to embed',
    'image',
    '/v1/embeddings',
    () => ({ model: 'test/voyage-embeddings', input: [{ content: [picture] }] }),
  ],
  [
    'a picture to moderate',
    'image',
    '/v1/moderations',
    () => ({ model: 'test/moderations', input: [picture] }),
  ],
  [
    'a reference of an image',
    'image',
    '/v1/images/generations',
    () => ({ model: 'test/images', prompt: 'A fox', input_references: [picture] }),
  ],
  [
    'an image to edit',
    'image',
    '/v1/images/edits',
    () =>
      toForm({
        model: 'test/images',
        prompt: 'A fox',
        image: new File([Buffer.from(greyPixelPng, 'base64')], 'a.png'),
      }),
  ],
  [
    'a voice to imitate',
    'audio',
    '/v1/audio/speech',
    () => ({
      model: 'test/speech',
      input: 'Hello',
      response_format: 'mp3',
      input_references: [{ type: 'input_audio', input_audio: { data: toBase64(wav), format: 'wav' } }],
    }),
  ],
  [
    'a recording to transcribe',
    'audio',
    '/v1/audio/transcriptions',
    () => toForm({ model: 'test/transcriptions', file: audioFile(wav) }),
  ],
  [
    'a frame of a video',
    'image',
    '/v1/videos',
    () => ({
      model: 'test/video',
      prompt: 'A fox',
      frame_images: [{ ...picture, frame_type: 'first_frame' }],
    }),
  ],
  [
    'a binary file for a vendor',
    'file',
    '/v1/files?provider=openai',
    () => toForm({ file: new File([Buffer.from(greyPixelPng, 'base64')], 'a.png') }),
  ],
]

describe('R35 what filters cannot read', () => {
  let bench: CoverageBench
  beforeAll(async () => {
    bench = await CoverageBench.open()
    await bench.use('key', { content_filters: [{ pattern: 'never', action: 'flag' }] })
  })
  afterAll(() => bench.close())

  const send = async (path: string, body: object) => {
    const [sent, known] = [bench.upstream.requests.length, await bench.countHits()]
    const { status, text } = await bench.send(path, { body })
    await bench.server.gateway.ledger.flush()
    const hits = await bench.listHits(known)
    return {
      status,
      text,
      isSent: bench.upstream.requests.length > sent,
      hits: hits.map(({ rule, action, part }) => [rule, action, part]),
    }
  }

  test.each(cases)('%s is recorded, and refused if a guardrail says so', async (_, part, path, build) => {
    await bench.setUnscannable(null)
    const allowed = await send(path, build())
    expect([allowed.status < 300, allowed.isSent, allowed.hits]).toEqual([
      true,
      true,
      [['unscannable_content', 'flag', part]],
    ])
    await bench.setUnscannable('block')
    const refused = await send(path, build())
    expect([refused.status, refused.isSent, refused.hits]).toEqual([
      403,
      false,
      [['unscannable_content', 'block', part]],
    ])
    expect(refused.text).toContain('content that cannot be scanned')
  })

  test('a PDF that can be read is not refused, and is sent as it is if nothing matches', async () => {
    await bench.setUnscannable('block')
    const { status, hits } = await send('/v1/chat/completions', chat(pdf(buildPdf(['readable']))))
    expect([status, hits]).toEqual([200, []])
    expect(bench.upstream.requests.at(-1)?.text).toContain('JVBERi0')
  })
})
