import { describe, expect, test } from 'bun:test'
import { truncate } from 'node:fs/promises'
import { ApiError, createPartFromUri, GoogleGenAI, type HttpOptions } from '@google/genai'
import { incoming, lastAsked, modelOf, rejection, scenarios, textDialects, useLab } from './lab.ts'
import { json, send } from './raw.ts'

const lab = useLab()

const client = (httpOptions: HttpOptions = {}) =>
  new GoogleGenAI({ apiKey: lab().key, httpOptions: { baseUrl: lab().url, ...httpOptions } })

const cloud = (apiVersion?: string) =>
  new GoogleGenAI({
    vertexai: true,
    apiKey: lab().key,
    httpOptions: { baseUrl: lab().url, ...(apiVersion && { apiVersion }) },
  })

/** All pages of a listing. */
async function all<T>(pages: Promise<AsyncIterable<T>>): Promise<T[]> {
  return Array.fromAsync(await pages)
}

describe.each(['v1beta', 'v1', 'v1alpha'])('the Google SDK asking version %s', (apiVersion) => {
  test('answers, streams and counts', async () => {
    const { models } = client({ apiVersion })
    const wish = { model: modelOf('gemini'), contents: incoming }
    expect((await models.generateContent(wish)).text).toBe(scenarios.text.text)
    let text = ''
    for await (const chunk of await models.generateContentStream(wish)) text += chunk.text ?? ''
    expect(text).toBe(scenarios.text.text)
    expect((await models.countTokens(wish)).totalTokens).toBeGreaterThan(0)
  })

  test('lists models page by page, and reads one', async () => {
    const { models } = client({ apiVersion })
    const names = (await all(models.list({ config: { pageSize: 2 } }))).map(({ name }) => name)
    for (const dialect of textDialects) expect(names).toContain(`models/${modelOf(dialect)}`)
    expect(new Set(names).size).toBe(names.length)
    expect(await models.get({ model: modelOf('chat') })).toMatchObject({
      name: 'models/lab/chat',
      displayName: 'Lab chat',
      description: 'A model for tests',
      inputTokenLimit: 200_000,
      supportedActions: ['generateContent', 'streamGenerateContent', 'countTokens'],
    })
  })

  test('a model that does not exist is an ApiError of status 404', async () => {
    const error = await rejection(client({ apiVersion }).models.get({ model: 'lab/none' }))
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ status: 404 })
  })
})

describe.each(['v1beta1', 'v1'])('the Google SDK in its cloud manner, version %s', (apiVersion) => {
  test('answers, counts, lists and reads', async () => {
    const { models } = cloud(apiVersion)
    const wish = { model: modelOf('messages'), contents: incoming }
    expect((await models.generateContent(wish)).text).toBe(scenarios.text.text)
    expect((await models.countTokens(wish)).totalTokens).toBeGreaterThan(0)
    const names = (await all(models.list())).map(({ name }) => name)
    expect(names).toContain('publishers/lab/models/messages')
    expect(await models.get({ model: modelOf('messages') })).toMatchObject({ displayName: 'Lab messages' })
  })
})

describe('paths by hand', () => {
  const body = { contents: [{ parts: [{ text: incoming }] }] }
  const project = '/projects/p-1/locations/europe-west4'

  test.each([
    '/v1beta/models/lab%2Fchat:generateContent',
    '/v1/models/lab%2Fchat:generateContent',
    `/v1${project}/publishers/lab/models/chat:generateContent`,
    `/v1beta1${project}/publishers/lab/models/chat:generateContent`,
    `/v1${project}/publishers/google/models/lab/chat:generateContent`,
    `/v1${project}/publishers/google/models/lab%2Fchat:generateContent`,
    '/v1beta1/publishers/google/models/lab/chat:generateContent',
  ])('%s', async (path) => {
    const answer = await json(send(lab(), path, { body }))
    expect(answer.candidates[0].content.parts[0].text).toBe(scenarios.text.text)
  })

  test('GET /v1/models is the list of the client that asks, known by where it puts its key', async () => {
    const ours = await json(send(lab(), '/v1/models'))
    expect(ours).toMatchObject({ object: 'list', data: expect.any(Array) })
    expect(ours).not.toHaveProperty('models')
    const headers = { 'x-goog-api-key': lab().key }
    const theirs = await json(send(lab(), '/v1/models?pageSize=3', { key: null, headers }))
    expect(theirs.models).toHaveLength(3)
    expect(theirs.nextPageToken).toBe(theirs.models[2].baseModelId)
    const agent = { 'user-agent': 'google-genai-sdk/3.0.0 gl-python/3.13' }
    expect(await json(send(lab(), '/v1/models', { headers: agent }))).toHaveProperty('data')
    const one = await json(send(lab(), '/v1/models/lab/chat', { key: null, headers }))
    expect(one.name).toBe('models/lab/chat')
    expect((await json(send(lab(), '/v1/models/lab/chat'))).id).toBe('lab/chat')
  })

  test.each([
    ['a token that is none', '/v1beta/models?pageToken=x', 400, 'INVALID_ARGUMENT'],
    ['a page of nothing', '/v1beta/models?pageSize=0', 400, 'INVALID_ARGUMENT'],
    ['no such model', '/v1beta/models/lab/none', 404, 'NOT_FOUND'],
    ['no such file', '/v1beta/files/4f1c4f1c4f1c4f1c4f1c4f1c', 404, 'NOT_FOUND'],
  ])('errors are in the words of the format: %s', async (_, path, code, status) => {
    const response = await send(lab(), path)
    expect(response.status).toBe(code)
    expect(await response.json()).toMatchObject({ error: { code, status } })
  })

  test('an unknown method of a model is a 404', async () => {
    expect((await send(lab(), '/v1/models/lab/chat:explode', { body })).status).toBe(404)
  })
})

describe.each(['v1beta', 'v1'])('files with the Google SDK, version %s', (apiVersion) => {
  const files = () => client({ apiVersion }).files

  test('are uploaded, listed, read, used in a prompt and deleted', async () => {
    const text = 'The answer is in this file.'
    const file = await files().upload({
      file: new Blob([text], { type: 'text/plain' }),
      config: { displayName: 'note.txt', mimeType: 'text/plain' },
    })
    expect({ ...file }).toMatchObject({
      name: expect.stringMatching(/^files\/[0-9a-f]{24}$/),
      displayName: 'note.txt',
      mimeType: 'text/plain',
      sizeBytes: String(text.length),
      state: 'ACTIVE',
    })
    const name = file.name ?? ''
    expect(await files().get({ name })).toEqual(file)
    expect((await all(files().list({ config: { pageSize: 1 } }))).map((one) => one.name)).toContain(name)
    const contents = [
      { role: 'user', parts: [{ text: 'Read:' }, createPartFromUri(file.uri ?? '', 'text/plain')] },
    ]
    const answer = await client({ apiVersion }).models.generateContent({ model: modelOf('chat'), contents })
    expect(answer.text).toBe(scenarios.text.text)
    expect(lastAsked(lab()).text).toContain(text)
    await files().delete({ name })
    expect(await rejection(files().get({ name }))).toMatchObject({ status: 404 })
  })

  test('several chunks become one file', async () => {
    const text = '0123456789abcdef'.repeat((9 * 1024 * 1024) / 16)
    const file = await files().upload({ file: new Blob([text]), config: { mimeType: 'text/plain' } })
    expect(file.sizeBytes).toBe(String(text.length))
    await files().delete({ name: file.name ?? '' })
  })

  test('a type that is not accepted is said once, without retries', async () => {
    const blob = new Blob([new Uint8Array(64).fill(0x80)])
    const began = performance.now()
    const error = await rejection(files().upload({ file: blob, config: { mimeType: 'video/mp4' } }))
    expect(error).toBeInstanceOf(ApiError)
    expect((error as ApiError).message).toContain('must be PDF')
    expect(performance.now() - began).toBeLessThan(900)
  })

  test('a file that is gone is named in the error of the prompt', async () => {
    const uri = `${lab().url}/v1beta/files/4f1c4f1c4f1c4f1c4f1c4f1c`
    const contents = [{ role: 'user', parts: [createPartFromUri(uri, 'text/plain')] }]
    const error = await rejection(client().models.generateContent({ model: modelOf('chat'), contents }))
    expect(error).toMatchObject({ status: 400 })
    expect((error as ApiError).message).toContain('contents.0.parts.0.fileData.fileUri')
  })
})

test('a file whose bytes are gone is named like one that was never there', async () => {
  const { files, models } = client()
  const file = await files.upload({ file: new Blob(['x']), config: { mimeType: 'text/plain' } })
  const id = file.name?.replace('files/', 'hg_file_') ?? ''
  await Bun.file(`${lab().server.gateway.config.dataDir}/files/${id}`).delete()
  const contents = [{ role: 'user', parts: [createPartFromUri(file.uri ?? '', 'text/plain')] }]
  const error = await rejection(models.generateContent({ model: modelOf('chat'), contents }))
  expect(error).toMatchObject({ status: 400 })
})

test('S13 the bytes on disk count against the size of a request, whatever the row says', async () => {
  const { files, models } = client()
  const file = await files.upload({ file: new Blob(['x']), config: { mimeType: 'text/plain' } })
  const id = file.name?.replace('files/', 'hg_file_') ?? ''
  const { config, settings } = lab().server.gateway
  await truncate(`${config.dataDir}/files/${id}`, settings.limits.body_bytes)
  const contents = [{ role: 'user', parts: [createPartFromUri(file.uri ?? '', 'text/plain')] }]
  const error = await rejection(models.generateContent({ model: modelOf('chat'), contents }))
  expect(error).toMatchObject({ status: 413 })
})

test('pictures are inlined for providers of every format', async () => {
  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg=='
  const { files, models } = client()
  const blob = new Blob([Buffer.from(pixel, 'base64')])
  const file = await files.upload({ file: blob, config: { mimeType: 'image/png' } })
  for (const dialect of textDialects) {
    const contents = [
      { role: 'user', parts: [{ text: 'What is it?' }, createPartFromUri(file.uri ?? '', 'image/png')] },
    ]
    await models.generateContent({ model: modelOf(dialect), contents })
    expect(lastAsked(lab()).text).toContain(pixel)
  }
})
