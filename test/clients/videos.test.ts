import { expect, test } from 'bun:test'
import { toFile } from 'openai'
import { greyPixelPng } from '../../src/catalog/providers/sandbox/media.ts'
import { runVideoJobs } from '../../src/inference/video/worker.ts'
import { rejection, useLab } from './lab.ts'
import { send } from './raw-http.ts'
import { googleClient, openaiClient, openRouterClient, vertexClient } from './sdks.ts'

const lab = useLab()
const model = 'sandbox/filmmaker'

/** Runs what is due minutes later: then the job is over. */
async function finishJobs(): Promise<void> {
  const { gateway, clock } = lab().server
  for (let round = 0; round < 3; round++) {
    clock.advance(60_000)
    await runVideoJobs(gateway)
    await gateway.videoTasks.idle()
  }
  clock.release()
}

test('openai: videos.create, retrieve, downloadContent, list and delete', async () => {
  const { videos } = openaiClient(lab())
  const created = await videos.create({ model, prompt: 'A fox', seconds: '4', size: '1280x720' })
  expect(created).toMatchObject({
    object: 'video',
    status: 'queued',
    model,
    seconds: '4',
    size: '1280x720',
    prompt: 'A fox',
    progress: 0,
    error: null,
  })
  await finishJobs()
  const done = await videos.retrieve(created.id)
  expect(done).toMatchObject({ id: created.id, status: 'completed', progress: 100 })
  expect(done.completed_at).toBeGreaterThanOrEqual(created.created_at)
  const content = Buffer.from(await (await videos.downloadContent(created.id)).arrayBuffer())
  expect(content.toString('latin1', 4, 8)).toBe('ftyp')
  const ids: string[] = []
  for await (const video of videos.list({ limit: 1 })) ids.push(video.id)
  expect(ids).toContain(created.id)
  expect(await videos.delete(created.id)).toEqual({ id: created.id, object: 'video.deleted', deleted: true })
  expect(await rejection(videos.retrieve(created.id))).toMatchObject({ status: 404 })
})

test('openai: a failed job, and a picture as a file, which this model does not take', async () => {
  const { videos } = openaiClient(lab())
  const { id } = await videos.create({ model, prompt: 'sandbox:fail=1 A fox' })
  await finishJobs()
  expect(await videos.retrieve(id)).toMatchObject({
    status: 'failed',
    error: { code: 'video_failed', message: expect.stringContaining('directed') },
  })
  const input_reference = await toFile(Buffer.from(greyPixelPng, 'base64'), 'grey.png', { type: 'image/png' })
  expect(await rejection(videos.create({ model, prompt: 'A fox', input_reference }))).toMatchObject({
    status: 400,
    message: expect.stringContaining('frame_images'),
  })
})

test('@openrouter/sdk: generate, getGeneration, getVideoContent and listVideosModels, with strict validation', async () => {
  const { videoGeneration } = openRouterClient(lab())
  const request = {
    model,
    prompt: 'A fox',
    duration: 4,
    resolution: '720p' as const,
    aspectRatio: '16:9' as const,
  }
  const created = await videoGeneration.generate({ videoGenerationRequest: request })
  expect(created.status).toBe('pending')
  await finishJobs()
  const done = await videoGeneration.getGeneration({ jobId: created.id })
  expect(done).toMatchObject({ status: 'completed', usage: { cost: 0.2, isByok: false } })
  expect(done.unsignedUrls).toHaveLength(1)
  const stream = await videoGeneration.getVideoContent({ jobId: created.id })
  const content = Buffer.concat(await Array.fromAsync(stream))
  expect(content.toString('latin1', 4, 8)).toBe('ftyp')
  const { data } = await videoGeneration.listVideosModels()
  expect(data.map(({ id }) => id)).toContain(model)
})

test('R11 @google/genai: generateVideos, its operation, and the video', async () => {
  const { models, operations } = googleClient(lab())
  const before = await lab().spent()
  const config = { numberOfVideos: 1, durationSeconds: 4, resolution: '720p', aspectRatio: '16:9' }
  const operation = await models.generateVideos({ model, source: { prompt: 'A fox' }, config })
  expect(operation.done).toBeFalsy()
  await finishJobs()
  const done = await operations.getVideosOperation({ operation })
  expect(done).toMatchObject({ name: operation.name, done: true })
  const [sample] = done.response?.generatedVideos ?? []
  const headers = { 'x-goog-api-key': lab().key }
  const content = await (await fetch(sample?.video?.uri ?? '', { headers })).bytes()
  expect(Buffer.from(content).toString('latin1', 4, 8)).toBe('ftyp')
  expect(await lab().spent()).toBeGreaterThan(before)
  const failing = await models.generateVideos({ model, source: { prompt: 'sandbox:fail=1 A fox' } })
  await finishJobs()
  const failed = await operations.getVideosOperation({ operation: failing })
  expect(failed).toMatchObject({ done: true, error: { message: expect.stringContaining('directed') } })
  const several = models.generateVideos({
    model,
    source: { prompt: 'A fox' },
    config: { numberOfVideos: 2 },
  })
  expect(await rejection(several)).toMatchObject({
    status: 400,
    message: expect.stringContaining('parameters.sampleCount: must be 1'),
  })
})

test.each([
  ['with a key', undefined],
  ['with a project', 'projects/acme/locations/us-central1'],
])('@google/genai for Vertex AI, %s: generateVideos and fetchPredictOperation', async (_, project) => {
  const { models, operations } = vertexClient(lab())
  const path = `${project ? `${project}/` : ''}publishers/sandbox/models/filmmaker`
  const config = { numberOfVideos: 1, durationSeconds: 4 }
  const operation = await models.generateVideos({ model: path, source: { prompt: 'A fox' }, config })
  expect(operation.name).toStartWith(`${path}/operations/`)
  const pending = await operations.getVideosOperation({ operation })
  expect(pending.done).toBeFalsy()
  await finishJobs()
  const done = await operations.getVideosOperation({ operation })
  expect(done).toMatchObject({ name: operation.name, done: true })
  const [sample] = done.response?.generatedVideos ?? []
  expect(sample?.video?.mimeType).toBe('video/mp4')
  const bytes = Buffer.from(sample?.video?.videoBytes ?? '', 'base64')
  expect(bytes.toString('latin1', 4, 8)).toBe('ftyp')
  expect(bytes).toEqual(await downloadVideo(operation.name ?? ''))
  const failing = await models.generateVideos({ model: path, source: { prompt: 'sandbox:fail=1 A fox' } })
  await finishJobs()
  expect(await operations.getVideosOperation({ operation: failing })).toMatchObject({
    done: true,
    error: { message: expect.stringContaining('directed') },
  })
})

/** The bytes of a job's video in this API. */
async function downloadVideo(operationName: string): Promise<Buffer> {
  const id = operationName.split('/').at(-1)
  const headers = { authorization: `Bearer ${lab().key}` }
  return Buffer.from(await (await fetch(`${lab().url}/v1/videos/${id}/content`, { headers })).arrayBuffer())
}

test.each([
  [{}, 400, 'operationName'],
  [{ operationName: 'nothing' }, 400, 'operationName'],
  [{ operationName: 'publishers/sandbox/models/filmmaker/operations/none' }, 404, 'The video job'],
])('an operation that does not exist is an error of the Gemini format: %j', async (body, status, message) => {
  const path = '/v1/publishers/sandbox/models/filmmaker:fetchPredictOperation'
  const response = await send(lab(), path, { body })
  expect(response.status).toBe(status)
  const { error } = (await response.json()) as { error: { code: number; message: string } }
  expect(error).toMatchObject({ code: status, message: expect.stringMatching(new RegExp(`^${message}`)) })
})

test('R31 what a video of the Gemini format cannot have is named', async () => {
  const image = { bytesBase64Encoded: greyPixelPng, mimeType: 'image/png' }
  const body = {
    instances: [{ prompt: 'A fox', mask: { image }, cameraControl: 'PAN_LEFT' }],
    parameters: { negativePrompt: 'dogs', storageUri: 'gs://bucket/' },
  }
  const response = await send(lab(), '/v1beta/models/sandbox/filmmaker:predictLongRunning', { body })
  expect(response.headers.get('x-headgate-dropped')?.split(', ').sort()).toEqual([
    'instances.0.cameraControl',
    'instances.0.mask',
    'parameters.negativePrompt',
    'parameters.storageUri',
  ])
})
