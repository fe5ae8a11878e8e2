import { describe, expect, test } from 'bun:test'
import { greyPixelPng } from '../../catalog/providers/sandbox/media.ts'
import type { ImagesCall } from '../call/images.ts'
import type { WireFormatName } from '../vocabulary.ts'
import { imageWireFormats } from './all.ts'
import { decodeImagesRequest } from './decode.ts'
import { computeSize, fitGeometry, type SupportedParameters, tierOf } from './geometry.ts'
import { listReplyUnits } from './units.ts'

const call = (change: Partial<ImagesCall> = {}): ImagesCall => ({
  prompt: 'A kite',
  n: 1,
  references: [],
  stream: false,
  native: {},
  unknown: [],
  ...change,
})
const reference = { kind: 'data' as const, mediaType: 'image/png', data: greyPixelPng }

function encode(name: WireFormatName, change: Partial<ImagesCall>, supported: SupportedParameters = {}) {
  const image = {
    supported_parameters: supported,
    allowed_passthrough_parameters: [],
    supports_streaming: false,
    pricing: [],
  }
  return imageWireFormats[name]?.encodeRequest(call(change), { model: 'm', options: { extra: 1 }, image })
}

describe('images', () => {
  test('a stream is requested only of an endpoint that streams', () => {
    expect(encode('images', { stream: true, partialImages: 2 })).toEqual({
      path: '/images/generations',
      headers: {},
      body: { model: 'm', prompt: 'A kite', extra: 1 },
      dropped: ['partial_images'],
    })
  })

  test('cached and text tokens are counted apart from those of images', () => {
    const events = imageWireFormats.images?.decodeReply({
      data: [{ b64_json: 'aaaa' }],
      usage: {
        input_tokens: 100,
        input_tokens_details: { image_tokens: 60, text_tokens: 40, cached_tokens: 10 },
        output_tokens: 500,
        output_tokens_details: { image_tokens: 450, text_tokens: 50 },
      },
    })
    expect(events?.[1]).toMatchObject({
      type: 'usage',
      usage: { input: 30, cacheRead: 10, inputImage: 60, output: 50, outputImage: 450 },
    })
  })
})

describe('pixel-images', () => {
  test('a ratio and a tier become width and height', () => {
    const supported: SupportedParameters = {
      aspect_ratio: { type: 'enum', values: ['16:9'] },
      resolution: { type: 'enum', values: ['1K'] },
    }
    expect(
      encode('pixel-images', { aspectRatio: '16:9', n: 2, seed: 7, quality: 'high' }, supported),
    ).toEqual({
      path: '/images/generations',
      headers: {},
      body: {
        model: 'm',
        prompt: 'A kite',
        n: 2,
        width: 1360,
        height: 768,
        seed: 7,
        response_format: 'base64',
        extra: 1,
      },
      dropped: ['quality'],
    })
  })

  test('a size and a reference are sent, and a URL or base64 is read', () => {
    const { body } =
      encode('pixel-images', { size: { width: 512, height: 768 }, references: [reference] }) ?? {}
    expect(body).toMatchObject({
      width: 512,
      height: 768,
      image_url: `data:image/png;base64,${greyPixelPng}`,
    })
    const reply = {
      data: [{ index: 0, b64_json: 'aaaa' }, { b64_json: '', url: 'https://images.example/1.png' }, {}],
    }
    expect(imageWireFormats['pixel-images']?.decodeReply(reply)).toEqual([
      { type: 'image', image: { source: { kind: 'data', data: 'aaaa' } } },
      { type: 'image', image: { source: { kind: 'url', url: 'https://images.example/1.png' } } },
    ])
  })
})

describe('gemini-images', () => {
  const supported: SupportedParameters = {
    aspect_ratio: { type: 'enum', values: ['1:1', '16:9'] },
    resolution: { type: 'enum', values: ['1K', '2K'] },
  }

  test('pixels become the ratio and tier that the endpoint supports', () => {
    const size = { width: 1344, height: 768 }
    expect(encode('gemini-images', { size, references: [reference] }, supported)).toEqual({
      path: '/models/m:generateContent',
      headers: {},
      body: {
        contents: [
          {
            role: 'user',
            parts: [{ text: 'A kite' }, { inlineData: { mimeType: 'image/png', data: greyPixelPng } }],
          },
        ],
        generationConfig: {
          responseModalities: ['IMAGE'],
          imageConfig: { aspectRatio: '16:9', imageSize: '1K' },
        },
        extra: 1,
      },
      dropped: [],
    })
  })

  test('R9 images are read without drafts, with their tokens apart from text and thoughts', () => {
    const events = imageWireFormats['gemini-images']?.decodeReply({
      candidates: [
        {
          content: {
            parts: [
              { thought: true, inlineData: { mimeType: 'image/png', data: 'draft' } },
              { text: 'Here it is' },
              { inlineData: { mimeType: 'image/png', data: 'final' } },
            ],
          },
          finishReason: 'STOP',
        },
      ],
      usageMetadata: {
        promptTokenCount: 267,
        candidatesTokenCount: 1300,
        thoughtsTokenCount: 100,
        totalTokenCount: 1667,
        promptTokensDetails: [
          { modality: 'TEXT', tokenCount: 9 },
          { modality: 'IMAGE', tokenCount: 258 },
        ],
        candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1290 }],
      },
    })
    expect(events).toMatchObject([
      { type: 'image', image: { source: { data: 'final' } } },
      {
        type: 'usage',
        usage: { input: 9, inputImage: 258, outputImage: 1290, output: 10, reasoning: 100 },
      },
    ])
  })

  test('R9 tokens of an unnamed kind are those of the image', () => {
    const events = imageWireFormats['gemini-images']?.decodeReply({
      candidates: [{ content: { parts: [{ inlineData: { data: 'final' } }] } }],
      usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 1290, totalTokenCount: 1299 },
    })
    expect(events?.[1]).toMatchObject({ usage: { input: 9, outputImage: 1290, output: 0 } })
  })

  test.each([
    [{ promptFeedback: { blockReason: 'SAFETY' } }, 'SAFETY'],
    [{ candidates: [{ finishReason: 'IMAGE_SAFETY' }] }, 'IMAGE_SAFETY'],
  ])('a refusal is one: %j', (body, code) => {
    expect(imageWireFormats['gemini-images']?.decodeReply(body)).toMatchObject([
      { type: 'error', failure: { kind: 'content_policy_violation', code } },
    ])
  })
})

test.each(['images', 'pixel-images', 'gemini-images', 'imagen'] as const)(
  'R31 %s: previews that are not sent are dropped',
  (wireFormat) => {
    expect(encode(wireFormat, { stream: true, partialImages: 2 })?.dropped).toEqual(['partial_images'])
  },
)

describe('imagen', () => {
  test('parameters have the names of the predict method', () => {
    const change = {
      n: 2,
      aspectRatio: '9:16',
      resolution: '2K',
      seed: 3,
      outputFormat: 'jpeg',
      outputCompression: 80,
    }
    expect(encode('imagen', change)).toEqual({
      path: '/models/m:predict',
      headers: {},
      body: {
        instances: [{ prompt: 'A kite' }],
        parameters: {
          sampleCount: 2,
          aspectRatio: '9:16',
          sampleImageSize: '2K',
          seed: 3,
          addWatermark: false,
          outputOptions: { mimeType: 'image/jpeg', compressionQuality: 80 },
          extra: 1,
        },
      },
      dropped: [],
    })
  })

  test('predictions are images, or say why there are none', () => {
    const decode = (predictions: object[]) => imageWireFormats.imagen?.decodeReply({ predictions })
    expect(decode([{ mimeType: 'image/png', bytesBase64Encoded: 'aaaa' }])).toEqual([
      { type: 'image', image: { source: { kind: 'data', data: 'aaaa' } } },
    ])
    expect(decode([{ raiFilteredReason: 'Filtered.' }])).toMatchObject([
      { type: 'error', failure: { kind: 'content_policy_violation', message: 'Filtered.' } },
    ])
    expect(decode([])).toEqual([])
  })
})

describe('geometry', () => {
  test.each([
    ['512x512', '512'],
    ['1024x1024', '1K'],
    ['1536x1024', '1K'],
    ['2752x1536', '2K'],
    ['6336x2688', '4K'],
  ])('%s is of tier %s', (text, tier) => {
    const [width = 0, height = 0] = text.split('x').map(Number)
    expect(tierOf({ width, height })).toBe(tier)
  })

  test('sides are multiples of 16 near the area of the tier', () => {
    expect(computeSize({})).toEqual({ width: 1024, height: 1024 })
    expect(computeSize({ resolution: '2K', aspectRatio: '21:9' })).toEqual({ width: 3136, height: 1344 })
  })

  test('a size that the endpoint cannot make is a problem, not another size', () => {
    const supported: SupportedParameters = { aspect_ratio: { type: 'enum', values: ['1:1'] } }
    expect(fitGeometry({ size: { width: 2048, height: 1024 } }, supported)).toMatchObject({ field: 'size' })
    expect(fitGeometry({ size: { width: 2048, height: 2048 } }, supported)).toMatchObject({ field: 'size' })
    expect(fitGeometry({ size: { width: 1024, height: 1024 } }, supported)).toEqual({ aspectRatio: '1:1' })
    expect(fitGeometry({ resolution: '4K' }, supported)).toMatchObject({ field: 'resolution' })
  })
})

test('auto and null are the same as absent, and fields of no format are named', () => {
  const body = {
    model: 'm',
    prompt: 'A kite',
    size: 'auto',
    quality: 'auto' as const,
    n: null,
    style: 'vivid',
    x: 1,
  }
  const { call: decoded } = decodeImagesRequest(body, { references: [] })
  expect(decoded).toEqual(call({ native: { style: 'vivid' }, unknown: ['x'] }))
})

test('R9 the units of a reply: each image by its own size, each reference once', () => {
  const images = [{ data: '', mediaType: 'image/png', size: { width: 1024, height: 512 } }]
  const units = listReplyUnits(call({ references: [reference] }), images, 'high', 1)
  expect(units.filter(({ billable }) => billable === 'output_image')).toEqual([
    expect.objectContaining({ unit: 'request', quantity: 1 }),
    {
      billable: 'output_image',
      unit: 'image',
      quantity: 1,
      variants: ['high 1024x512', 'high 512', '1024x512', '512', 'high'],
    },
    expect.objectContaining({ unit: 'megapixel', quantity: 524_288 }),
  ])
  expect(units).toContainEqual({ billable: 'input_reference', unit: 'image', quantity: 1, variants: [] })
})
