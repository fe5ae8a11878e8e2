import { describe, expect, spyOn, test } from 'bun:test'
import { truncate } from 'node:fs/promises'
import { ApiError, createPartFromUri, FinishReason, type HttpOptions } from '@google/genai'
import { listen } from '../../src/catalog/providers/sandbox/artifacts/speech.ts'
import { modelOf, prompt, rejection, scenarios, textWireFormats, useLab } from './lab.ts'
import { json, send } from './raw-http.ts'
import { googleClient, vertexClient } from './sdks.ts'

const lab = useLab()

const client = (options?: HttpOptions) => googleClient(lab(), options)

const vertex = (apiVersion?: string) => vertexClient(lab(), apiVersion)

interface JsonError {
  error: { code: number; status: string; message: string }
}

/** All pages of a listing. */
async function collect<T>(pages: Promise<AsyncIterable<T>>): Promise<T[]> {
  return Array.fromAsync(await pages)
}

describe.each(['v1beta', 'v1', 'v1alpha'])('the Google SDK, version %s', (apiVersion) => {
  test('generates, streams and counts', async () => {
    const { models } = client({ apiVersion })
    const params = { model: modelOf('gemini'), contents: prompt }
    expect((await models.generateContent(params)).text).toBe(scenarios.text.text)
    let text = ''
    for await (const chunk of await models.generateContentStream(params)) text += chunk.text ?? ''
    expect(text).toBe(scenarios.text.text)
    expect((await models.countTokens(params)).totalTokens).toBeGreaterThan(0)
  })

  test('lists models page by page, and reads one', async () => {
    const { models } = client({ apiVersion })
    const names = (await collect(models.list({ config: { pageSize: 2 } }))).map(({ name }) => name)
    for (const wireFormat of textWireFormats) expect(names).toContain(`models/${modelOf(wireFormat)}`)
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

describe.each(['v1beta1', 'v1'])('the Google SDK for Vertex AI, version %s', (apiVersion) => {
  test('generates, counts, lists and reads', async () => {
    const { models } = vertex(apiVersion)
    const params = { model: modelOf('messages'), contents: prompt }
    expect((await models.generateContent(params)).text).toBe(scenarios.text.text)
    expect((await models.countTokens(params)).totalTokens).toBeGreaterThan(0)
    const names = (await collect(models.list())).map(({ name }) => name)
    expect(names).toContain('publishers/lab/models/messages')
    expect(await models.get({ model: modelOf('messages') })).toMatchObject({ displayName: 'Lab messages' })
  })
})

describe('embeddings with the Google SDK', () => {
  const model = 'sandbox/embedder'
  const contents = ['The cat sat on the mat', 'A cat sits on a mat']

  test('R11 of several texts, and charged', async () => {
    const before = await lab().spent()
    const config = { taskType: 'RETRIEVAL_QUERY', outputDimensionality: 8 }
    const { embeddings } = await client().models.embedContent({ model, contents, config })
    expect(embeddings?.map(({ values }) => values?.length)).toEqual([8, 8])
    expect(await lab().spent()).toBeGreaterThan(before)
  })

  test('of text and an image', async () => {
    const image = { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }
    const { embeddings } = await client().models.embedContent({
      model,
      contents: [{ parts: [{ text: 'A cat' }, image] }],
    })
    expect(embeddings).toHaveLength(1)
  })

  test('of Vertex AI', async () => {
    const { embeddings } = await vertex().models.embedContent({ model, contents: contents.slice(0, 1) })
    expect(embeddings?.[0]?.values).toHaveLength(1536)
    expect(embeddings?.[0]?.statistics).toEqual({ tokenCount: 6, truncated: false })
    // The SDK calls another method for names with gemini.
    const body = { content: { parts: [{ text: 'Hello' }] }, embedContentConfig: { outputDimensionality: 4 } }
    const one = await json(send(lab(), '/v1beta1/publishers/sandbox/models/embedder:embedContent', { body }))
    expect(one.embedding.values).toHaveLength(4)
    expect(one.usageMetadata).toMatchObject({ promptTokenCount: 2 })
  })

  test('R31 what has no counterpart is named where it is', async () => {
    const requests = [{ content: { parts: [{ text: 'a' }] }, title: 'A', mood: 'sunny' }]
    const path = `/v1beta/models/${model}:batchEmbedContents`
    const response = await send(lab(), path, { body: { requests, extra: 1 } })
    expect(response.headers.get('x-headgate-dropped')).toBe('extra, requests.mood, title')
  })

  test.each([
    ['content.parts', ':embedContent', { content: { parts: [] } }],
    ['content.parts.0', ':embedContent', { content: { parts: [{ text: '' }] } }],
    [
      'requests.1.taskType',
      ':batchEmbedContents',
      {
        requests: [
          { content: { parts: [{ text: 'a' }] } },
          { content: { parts: [{ text: 'b' }] }, task_type: 'CLUSTERING' },
        ],
      },
    ],
    ['requests', ':batchEmbedContents', {}],
  ])('a 400 names its field: %s', async (field, method, body) => {
    const response = await send(lab(), `/v1beta/models/${model}${method}`, { body })
    expect(response.status).toBe(400)
    expect(((await response.json()) as JsonError).error.message).toStartWith(`${field}: `)
  })

  test('a model that makes no embeddings is named', async () => {
    const error = await rejection(client().models.embedContent({ model: modelOf('chat'), contents }))
    expect(error).toMatchObject({ status: 400, message: expect.stringContaining(modelOf('chat')) })
  })

  test('the list of models says which have them', async () => {
    expect((await client().models.get({ model })).supportedActions).toEqual([
      'embedContent',
      'batchEmbedContents',
    ])
  })
})

describe('images with the Google SDK (Imagen)', () => {
  const model = 'sandbox/painter'

  test('R11 generateImages of Vertex AI, and charged', async () => {
    const before = await lab().spent()
    const config = {
      numberOfImages: 2,
      aspectRatio: '16:9',
      imageSize: '1K',
      outputMimeType: 'image/jpeg',
      outputCompressionQuality: 80,
    }
    const { generatedImages } = await vertex().models.generateImages({ model, prompt: 'A fox', config })
    expect(generatedImages?.map(({ image }) => image?.mimeType)).toEqual(['image/jpeg', 'image/jpeg'])
    for (const { image } of generatedImages ?? [])
      expect(Buffer.from(image?.imageBytes ?? '', 'base64').toString('hex', 0, 2)).toBe('ffd8')
    expect(await lab().spent()).toBeCloseTo(before + 0.04 + 0.000002, 5)
  })

  test('R31 predict of the Gemini API; parameters without a counterpart are named', async () => {
    const body = {
      instances: [{ prompt: 'A fox' }],
      parameters: {
        sampleCount: 1,
        negativePrompt: 'dogs',
        personGeneration: 'dont_allow',
        addWatermark: true,
      },
    }
    const response = await send(lab(), `/v1beta/models/${model}:predict`, { body })
    expect(response.headers.get('x-headgate-dropped')).toBe(
      'parameters.addWatermark, parameters.negativePrompt, parameters.personGeneration',
    )
    const reply = (await response.json()) as {
      predictions: { mimeType: string; bytesBase64Encoded: string }[]
    }
    expect(reply.predictions).toHaveLength(1)
    expect(reply.predictions[0]?.mimeType).toBe('image/png')
  })

  test.each([
    ['instances', { instances: [] }],
    ['instances', { instances: [{ prompt: 'a' }, { prompt: 'b' }] }],
    ['instances.0.prompt', { instances: [{}] }],
    ['instances.0.referenceImages', { instances: [{ prompt: 'a', referenceImages: [{}] }] }],
    ['parameters.sampleCount', { instances: [{ prompt: 'a' }], parameters: { sampleCount: 11 } }],
    ['parameters.sampleCount', { instances: [{ prompt: 'a' }], parameters: { sampleCount: 5 } }],
    ['parameters.aspectRatio', { instances: [{ prompt: 'a' }], parameters: { aspectRatio: '7:1' } }],
    ['parameters.aspectRatio', { instances: [{ prompt: 'a' }], parameters: { aspectRatio: '21:9' } }],
  ])('a 400 names its field: %s', async (field, body) => {
    const response = await send(lab(), `/v1beta/models/${model}:predict`, { body })
    expect(response.status).toBe(400)
    expect(((await response.json()) as JsonError).error.message).toStartWith(`${field}: `)
  })
})

describe('speech with the Google SDK', () => {
  const model = 'sandbox/speaker'
  const contents = 'The quick brown fox'
  const config = (voiceName: string) => ({
    responseModalities: ['AUDIO'],
    speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName } } },
  })
  const readBack = async (data: string) => {
    const bytes = new Uint8Array(Buffer.from(data, 'base64'))
    return (await listen(new Int16Array(bytes.buffer), 24_000)).text
  }

  test('R11 a whole recording, and charged', async () => {
    const before = await lab().spent()
    const reply = await client().models.generateContent({ model, contents, config: config('low') })
    const audio = reply.candidates?.[0]?.content?.parts?.[0]?.inlineData
    expect(audio?.mimeType).toBe('audio/L16;codec=pcm;rate=24000')
    expect(await readBack(audio?.data ?? '')).toBe(contents)
    expect(reply.candidates?.[0]?.finishReason).toBe(FinishReason.STOP)
    expect(await lab().spent()).toBeGreaterThan(before)
  })

  test('streamed', async () => {
    const pieces: Buffer[] = []
    const stream = await client().models.generateContentStream({ model, contents, config: config('high') })
    for await (const { candidates } of stream) {
      for (const { inlineData } of candidates?.[0]?.content?.parts ?? [])
        if (inlineData?.data) pieces.push(Buffer.from(inlineData.data, 'base64'))
    }
    expect(pieces.length).toBeGreaterThan(1)
    expect(await readBack(Buffer.concat(pieces).toString('base64'))).toBe(contents)
  })

  test('a voice that the model does not have is a 400 that names the field', async () => {
    const error = await rejection(
      client().models.generateContent({ model, contents, config: config('Puck') }),
    )
    expect(error).toMatchObject({ status: 400 })
    expect((error as Error).message).toContain('generationConfig.speechConfig: must be one of')
  })
})

describe('what speech of the Gemini format cannot have', () => {
  const path = '/v1beta/models/sandbox/speaker:generateContent'
  const generationConfig = { responseModalities: ['AUDIO'] }

  test('R31 is named', async () => {
    const body = {
      contents: [{ parts: [{ text: 'Hello' }] }],
      generationConfig: { ...generationConfig, temperature: 1, speechConfig: { languageCode: 'de-DE' } },
      tools: [{ googleSearch: {} }],
      safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
    }
    const response = await send(lab(), path, { body })
    expect(response.status).toBe(200)
    expect(response.headers.get('x-headgate-dropped')?.split(', ').sort()).toEqual([
      'generationConfig.speechConfig.languageCode',
      'generationConfig.temperature',
      'safetySettings',
      'tools',
    ])
  })

  test('is a 400 if it would not be spoken', async () => {
    const parts = [{ text: 'Hello' }, { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }]
    const response = await send(lab(), path, { body: { contents: [{ parts }], generationConfig } })
    expect(response.status).toBe(400)
    expect(((await response.json()) as JsonError).error.message).toStartWith(
      'contents.0.parts.1: must be a text',
    )
  })
})

describe('paths by hand', () => {
  const body = { contents: [{ parts: [{ text: prompt }] }] }
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
    const reply = await json(send(lab(), path, { body }))
    expect(reply.candidates[0].content.parts[0].text).toBe(scenarios.text.text)
  })

  test('GET /v1/models has the format of the client, known by the header of its key', async () => {
    const openaiList = await json(send(lab(), '/v1/models'))
    expect(openaiList).toMatchObject({ object: 'list', data: expect.any(Array) })
    expect(openaiList).not.toHaveProperty('models')
    const headers = { 'x-goog-api-key': lab().key }
    const geminiList = await json(send(lab(), '/v1/models?pageSize=3', { key: null, headers }))
    expect(geminiList.models).toHaveLength(3)
    expect(geminiList.nextPageToken).toBe(geminiList.models[2].baseModelId)
    const agent = { 'user-agent': 'google-genai-sdk/3.0.0 gl-python/3.13' }
    expect(await json(send(lab(), '/v1/models', { headers: agent }))).toHaveProperty('data')
    const one = await json(send(lab(), '/v1/models/lab/chat', { key: null, headers }))
    expect(one.name).toBe('models/lab/chat')
    expect((await json(send(lab(), '/v1/models/lab/chat'))).id).toBe('lab/chat')
  })

  test.each([
    ['an invalid token', '/v1beta/models?pageToken=x', 400, 'INVALID_ARGUMENT'],
    ['a page of nothing', '/v1beta/models?pageSize=0', 400, 'INVALID_ARGUMENT'],
    ['no such model', '/v1beta/models/lab/none', 404, 'NOT_FOUND'],
    ['no such file', '/v1beta/files/4f1c4f1c4f1c4f1c4f1c4f1c', 404, 'NOT_FOUND'],
  ])('errors have the format of the Gemini API: %s', async (_, path, code, status) => {
    const response = await send(lab(), path)
    expect(response.status).toBe(code)
    expect(await response.json()).toMatchObject({ error: { code, status } })
  })

  test.each([
    '/v1/models/lab/chat:explode',
    '/v1beta/models/lab%2Fchat:constructor',
    '/v1beta/models/lab/chat',
    '/v1beta1/publishers/lab/models/chat:serverStreamingPredict',
    '/v1beta/cachedContents',
    '/v1beta/tunedModels/mine:generateContent',
  ])('what is not offered is a 404 that says what is, whatever the body: %s', async (path) => {
    for (const sent of [body, {}, { instances: [] }]) {
      const response = await send(lab(), path, { body: sent })
      expect(response.status).toBe(404)
      const { error } = (await response.json()) as JsonError
      expect(error).toMatchObject({ code: 404, status: 'NOT_FOUND' })
      expect(error.message).toMatch(/not offered|must end in .* a method/)
      expect(error.message).toContain('generateContent')
    }
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
    expect((await collect(files().list({ config: { pageSize: 1 } }))).map((one) => one.name)).toContain(name)
    const contents = [
      { role: 'user', parts: [{ text: 'Read:' }, createPartFromUri(file.uri ?? '', 'text/plain')] },
    ]
    const reply = await client({ apiVersion }).models.generateContent({ model: modelOf('chat'), contents })
    expect(reply.text).toBe(scenarios.text.text)
    expect(lab().lastRequest().text).toContain(text)
    await files().delete({ name })
    expect(await rejection(files().get({ name }))).toMatchObject({ status: 404 })
  })

  test('several chunks become one file', async () => {
    const text = '0123456789abcdef'.repeat((9 * 1024 * 1024) / 16)
    const file = await files().upload({ file: new Blob([text]), config: { mimeType: 'text/plain' } })
    expect(file.sizeBytes).toBe(String(text.length))
    await files().delete({ name: file.name ?? '' })
  })

  test('an unsupported type is an error, without retries', async () => {
    const blob = new Blob([new Uint8Array(64).fill(0x80)])
    const sent = spyOn(globalThis, 'fetch')
    const error = await rejection(files().upload({ file: blob, config: { mimeType: 'video/mp4' } }))
    expect(error).toBeInstanceOf(ApiError)
    expect((error as ApiError).message).toContain('must be PDF')
    // The start of the upload and its only chunk.
    expect(sent).toHaveBeenCalledTimes(2)
    sent.mockRestore()
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
  for (const wireFormat of textWireFormats) {
    const contents = [
      { role: 'user', parts: [{ text: 'What is it?' }, createPartFromUri(file.uri ?? '', 'image/png')] },
    ]
    await models.generateContent({ model: modelOf(wireFormat), contents })
    expect(lab().lastRequest().text).toContain(pixel)
  }
})
