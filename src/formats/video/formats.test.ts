import { describe, expect, test } from 'bun:test'
import type { VideoJobFormat } from '../../catalog/provider.ts'
import type { VideoCall } from '../call/video.ts'
import { listVideoWireFormats } from './all.ts'
import { decodeVideoRequest, measureVideo, parseDataUrl, toVideoPrompt } from './decode.ts'
import { geminiVideo } from './gemini.ts'
import { createJobsWireFormat } from './jobs.ts'
import { openaiVideo } from './openai.ts'
import { listIneffectiveFields, videoRequest } from './schema.ts'

const png = 'data:image/png;base64,iVBORw0KGgo='
const target = { model: 'film-1', options: { style: 'noir' } }

function buildCall(changes: Partial<VideoCall> = {}): VideoCall {
  return { ...decodeVideoRequest({ model: 'm', prompt: 'A fox' }), ...changes }
}

describe('the request', () => {
  test('is decoded into a call, with the names of the OpenAI SDKs too', () => {
    const body = videoRequest.parse({
      model: 'm',
      prompt: 'A fox',
      seconds: '8',
      input_reference: { image_url: png },
    })
    expect(decodeVideoRequest(body)).toMatchObject({ duration: 8, firstFrame: png, references: [] })
  })

  test('frames and references become parts of the prompt', () => {
    const call = buildCall({
      firstFrame: png,
      references: [
        { kind: 'video', url: 'https://example.com/a.mp4' },
        { kind: 'audio', url: 'https://example.com/a.mp3' },
      ],
    })
    expect(toVideoPrompt(call).messages[0]?.parts.map(({ kind }) => kind)).toEqual(['text', 'image', 'video'])
  })

  test('a value that a price depends on and that is not set has no variant, so the highest price counts', () => {
    const [seconds] = measureVideo(buildCall(), undefined).units
    expect(seconds).toMatchObject({ unit: 'second', variants: [] })
  })

  test('unknown fields are listed', () => {
    expect(listIneffectiveFields(videoRequest.parse({ model: 'm', color: 'red' }))).toEqual(['color'])
  })

  test('frames win over references, which are listed', () => {
    const image_url = { url: 'data:image/png;base64,aGk=' }
    const body = videoRequest.parse({
      model: 'm',
      frame_images: [{ type: 'image_url', image_url, frame_type: 'first_frame' }],
      input_references: [{ type: 'image_url', image_url }],
    })
    expect(decodeVideoRequest(body)).toMatchObject({ firstFrame: image_url.url, references: [] })
    expect(listIneffectiveFields(body)).toEqual(['input_references'])
  })

  test.each(['data:image/png,abc', 'https://example.com/a.png', 'data:;base64,abc'])(
    '%s is no data URL',
    (url) => {
      expect(parseDataUrl(url)).toBeNull()
    },
  )
})

describe('video', () => {
  test('a remix of an earlier video', () => {
    const previous = { upstreamId: 'video/1', url: '/x' }
    expect(openaiVideo.encodeRequest(buildCall({ previous, firstFrame: png }), target)).toMatchObject({
      path: '/videos/video%2F1/remix',
      body: { prompt: 'A fox', style: 'noir' },
      dropped: ['frame_images'],
    })
  })

  test.each([
    [{ status: 'queued' }, { status: 'pending', percent: null }],
    [
      { status: 'in_progress', progress: 33 },
      { status: 'in_progress', percent: 33 },
    ],
    [
      { status: 'failed', error: { message: 'No.' } },
      { status: 'failed', message: 'No.' },
    ],
    [{ status: 'failed' }, { status: 'failed', message: 'The provider gave no reason.' }],
    [{ status: 'dancing' }, null],
    [{}, null],
  ])('the state %j', (body, expected) => {
    expect(openaiVideo.decodeProgress(body, 'v-1')).toEqual(expected as never)
  })

  test('a reply without an id is no submission', () => {
    for (const body of [{}, { id: '' }, { id: 7 }]) expect(openaiVideo.decodeSubmission(body)).toBeNull()
  })
})

describe('gemini-video', () => {
  test.each(['', '../../admin', 'operations/a?key=1', '/models/x', 'models/x/operations/..%2f'])(
    'an operation named %j is not followed',
    (name) => {
      expect(geminiVideo.decodeSubmission({ name })).toBeNull()
    },
  )

  test('an operation that failed, and one without a result', () => {
    const name = 'models/film-1/operations/1'
    expect(
      geminiVideo.decodeProgress({ name, done: true, error: { code: 3, message: 'Bad.' } }, name),
    ).toEqual({
      status: 'failed',
      message: 'Bad.',
    })
    expect(geminiVideo.decodeProgress({ name, done: true }, name)).toMatchObject({ status: 'failed' })
    expect(geminiVideo.decodeProgress({}, name)).toBeNull()
  })

  test('a video is continued by its address', () => {
    const { body } = geminiVideo.encodeRequest(buildCall({ previous: { upstreamId: 'x', url: 'u' } }), target)
    expect(body).toMatchObject({ instances: [{ video: { uri: 'u' } }], parameters: { style: 'noir' } })
  })
})

describe('video-jobs', () => {
  const format: VideoJobFormat = {
    submit: '/make',
    poll: '/jobs/{id}',
    id: 'task.id',
    fields: { prompt: 'input.text', duration: 'input.seconds', size: 'size' },
    state: 'task.state',
    states: { RUNNING: 'in_progress', OK: 'completed', KO: 'failed' },
    url: 'files.mp4',
    tokens: 'usage.tokens',
    error: 'task.reason',
  }
  const wireFormat = createJobsWireFormat(format)

  test('fields go where the provider has them; the others are reported', () => {
    const call = buildCall({ duration: 4, size: '1280x720', resolution: '720p', seed: 7 })
    expect(wireFormat.encodeRequest(call, target)).toEqual({
      path: '/make',
      headers: {},
      body: { model: 'film-1', style: 'noir', input: { text: 'A fox', seconds: 4 }, size: '1280x720' },
      dropped: ['seed'],
    })
    expect(wireFormat.buildPollPath('a/b')).toBe('/jobs/a%2Fb')
    expect(wireFormat.findProblem?.(buildCall({ previous: { upstreamId: 'x', url: 'u' } }))?.field).toBe(
      'previous_job_id',
    )
  })

  test('states are those that the provider declares', () => {
    expect(wireFormat.decodeSubmission({ task: { id: 't' } })).toBe('t')
    expect(wireFormat.decodeProgress({ task: { state: 'RUNNING' } }, 't')).toMatchObject({
      status: 'in_progress',
    })
    const done = { task: { state: 'OK' }, files: { mp4: 'https://x/1' }, usage: { tokens: 9 } }
    expect(wireFormat.decodeProgress(done, 't')).toEqual({
      status: 'completed',
      urls: ['https://x/1'],
      seconds: null,
      tokens: 9,
    })
    expect(wireFormat.decodeProgress({ task: { state: 'OK' } }, 't')).toBeNull()
    expect(wireFormat.decodeProgress({ task: { state: 'KO', reason: 'No.' } }, 't')).toEqual({
      status: 'failed',
      message: 'No.',
    })
    expect(wireFormat.decodeProgress({ task: { state: '__proto__' } }, 't')).toBeNull()
  })

  test('a provider in this process drops nothing', () => {
    const { video } = listVideoWireFormats({ inProcess: true })
    expect(video?.encodeRequest(buildCall({ seed: 7 }), target).dropped).toEqual([])
  })
})
