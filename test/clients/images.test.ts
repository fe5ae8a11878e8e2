import { describe, expect, test } from 'bun:test'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { ImageStreamingResponse } from '@openrouter/sdk/models'
import { generateImage } from 'ai'
import { BadRequestError, toFile } from 'openai'
import { greyPixelPng } from '../../src/catalog/providers/sandbox/media.ts'
import { readBase64Image } from '../../src/platform/media/base64-image.ts'
import { rejection, useLab } from './lab.ts'
import { openaiClient, openRouterClient } from './sdks.ts'

const lab = useLab()
const model = 'sandbox/painter'
const prompt = 'A red kite over the sea'
const sizeOf = (data: string | undefined) => readBase64Image(data ?? '')?.size
const upload = () => toFile(Buffer.from(greyPixelPng, 'base64'), 'grey.png', { type: 'image/png' })

describe('the OpenAI SDK', () => {
  test('images.generate() has images and usage', async () => {
    const reply = await openaiClient(lab()).images.generate({
      model,
      prompt,
      n: 2,
      size: '1536x1024',
      background: 'transparent',
      output_format: 'webp',
    })
    expect(reply.data?.map(({ b64_json }) => sizeOf(b64_json))).toEqual(
      Array(2).fill({ width: 1536, height: 1024 }),
    )
    expect(reply).toMatchObject({ output_format: 'webp', size: '1536x1024' })
    expect(reply.usage).toMatchObject({
      input_tokens: 6,
      output_tokens: 512,
      total_tokens: 518,
      input_tokens_details: { image_tokens: 0, text_tokens: 6 },
    })
  })

  test('images.generate() with a stream has previews, then the image', async () => {
    const stream = await openaiClient(lab()).images.generate({
      model,
      prompt,
      stream: true,
      partial_images: 3,
    })
    const types: string[] = []
    let cost: unknown
    for await (const event of stream) {
      types.push(event.type)
      expect(sizeOf(event.b64_json)).toEqual({ width: 1024, height: 1024 })
      if (event.type === 'image_generation.completed')
        cost = (event.usage as unknown as { cost: number }).cost
    }
    expect(types).toEqual([
      'image_generation.partial_image',
      'image_generation.partial_image',
      'image_generation.partial_image',
      'image_generation.completed',
    ])
    expect(cost).toBe(0.020006)
  })

  test('an error within a stream is thrown', async () => {
    const stream = await openaiClient(lab()).images.generate({
      model,
      prompt: 'sandbox:fail=1 A kite',
      stream: true,
    })
    const read = async () => {
      for await (const event of stream) expect(event.type).toBe('image_generation.partial_image')
    }
    expect((await rejection(read())).message).toContain('directed to fail within its reply')
  })

  test('images.edit() sends one image or several, whole or streamed', async () => {
    const { images } = openaiClient(lab())
    const one = await images.edit({ model, prompt, image: await upload() })
    expect(sizeOf(one.data?.[0]?.b64_json)).toEqual({ width: 1024, height: 1024 })
    const two = await images.edit({ model, prompt, image: [await upload(), await upload()], n: 1 })
    expect(two.usage).toMatchObject({ input_tokens: 6, cost: 0.030006 })
    const types: string[] = []
    const stream = await images.edit({
      model,
      prompt,
      image: await upload(),
      stream: true,
      partial_images: 1,
    })
    for await (const event of stream) types.push(event.type)
    expect(types).toEqual(['image_edit.partial_image', 'image_edit.completed'])
  })

  test('a value that the model does not support is a BadRequestError that names it', async () => {
    const call = openaiClient(lab()).images.generate({ model, prompt, size: '256x256' })
    const error = (await rejection(call)) as BadRequestError
    expect(error).toBeInstanceOf(BadRequestError)
    expect([error.param, error.message]).toEqual([
      'size',
      expect.stringContaining('must be one of 1024x1024'),
    ])
  })
})

describe('the AI SDK', () => {
  test.each([
    ['openai', () => createOpenAI({ baseURL: `${lab().url}/v1`, apiKey: lab().key }).image(model)],
    [
      'openai-compatible',
      () =>
        createOpenAICompatible({
          name: 'headgate',
          baseURL: `${lab().url}/v1`,
          apiKey: lab().key,
        }).imageModel(model),
    ],
  ])('generateImage() of %s', async (_, imageModel) => {
    const { images } = await generateImage({ model: imageModel(), prompt, size: '1536x1024' })
    expect(images.map(({ base64 }) => sizeOf(base64))).toEqual([{ width: 1536, height: 1024 }])
    expect(images[0]?.mediaType).toBe('image/png')
  })
})

describe('the OpenRouter SDK, which validates every field', () => {
  const generate = (more: object = {}) =>
    openRouterClient(lab()).images.generate({ imageGenerationRequest: { model, prompt, ...more } })

  test('images.generate() with a reference', async () => {
    const url = `data:image/png;base64,${greyPixelPng}`
    const reply = await generate({
      resolution: '2K',
      aspectRatio: '16:9',
      outputFormat: 'jpeg',
      inputReferences: [{ type: 'image_url', imageUrl: { url } }],
      sessionId: 's1',
    })
    if (!('data' in reply)) throw new Error('a whole reply has data')
    expect(reply.data[0]?.mediaType).toBe('image/jpeg')
    expect(reply.usage).toMatchObject({ cost: 0.045006, isByok: false, promptTokens: 6 })
  })

  test('images.generate() with a stream', async () => {
    const events: ImageStreamingResponse['data'][] = []
    const stream = (await generate({ stream: true })) as unknown as AsyncIterable<
      ImageStreamingResponse['data']
    >
    for await (const event of stream) events.push(event)
    expect(events.map(({ type }) => type)).toEqual([
      'image_generation.partial_image',
      'image_generation.partial_image',
      'image_generation.completed',
    ])
    expect(events.at(-1)).toMatchObject({ mediaType: 'image/png', usage: { cost: 0.020006 } })
  })

  test('images.listModels() and listModelEndpoints() (E8)', async () => {
    const { images } = openRouterClient(lab())
    const { data } = await images.listModels()
    expect(data.map(({ id }) => id)).toContain(model)
    const { endpoints } = await images.listModelEndpoints({ author: 'sandbox', slug: 'painter' })
    expect(endpoints[0]).toMatchObject({ providerSlug: 'sandbox', supportsStreaming: true })
  })
})
