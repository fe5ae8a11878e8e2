import { describe, expect, test } from 'bun:test'
import { buildTokenRows, convertImageRows, convertVideoSkus, parseSizedKey } from './entry-media.ts'
import type { PriceEntry } from './price-list.ts'

const entry = (fields: Record<string, unknown>): PriceEntry => ({
  key: 'acme/model',
  seller: 'acme',
  mode: 'image_generation',
  fields,
})

test.each([
  ['low/1024-x-1024/gpt-image-1', 'gpt-image-1', 'low 1024x1024'],
  ['1024-x-1536/gpt-image-1.5', 'gpt-image-1.5', '1024x1536'],
  ['azure/hd/1024-x-1792/dall-e-3', 'azure/dall-e-3', 'hd 1024x1792'],
  ['azure/1024-x-1024/gpt-image-1', 'azure/gpt-image-1', '1024x1024'],
])('%s is a price of %s: %s', (key, base, variant) => {
  expect(parseSizedKey(key)).toEqual({ base, variant })
})

test.each(['gpt-image-1', 'azure/gpt-image-1', '1024-x-1024/50-steps/acme.model'])(
  '%s is no size of a model',
  (key) => expect(parseSizedKey(key)).toBeUndefined(),
)

describe('rows of image prices', () => {
  test('by the image', () => {
    expect(convertImageRows(entry({ output_cost_per_image: 0.04, input_cost_per_image: 0.0011 }))).toEqual([
      { billable: 'output_image', unit: 'image', cost_usd: '0.04' },
      { billable: 'input_image', unit: 'image', cost_usd: '0.0011' },
    ])
  })

  test('the price of the only image is that of the output', () => {
    expect(
      convertImageRows(entry({ input_cost_per_image: 0.011, input_cost_per_pixel: 1.0490417e-8 }), 'low'),
    ).toEqual([{ billable: 'output_image', unit: 'image', cost_usd: '0.011', variant: 'low' }])
  })

  test('by the pixel become prices of a megapixel', () => {
    expect(convertImageRows(entry({ input_cost_per_pixel: 2.0751953125e-9 }), 'low 1024x1024')).toEqual([
      { billable: 'output_image', unit: 'megapixel', cost_usd: '0.0020751953125', variant: 'low 1024x1024' },
    ])
  })

  test('R8 without a price there are none', () => {
    expect(convertImageRows(entry({ input_cost_per_pixel: 0, output_cost_per_image: 0 }))).toEqual([])
  })

  test('by the token', () => {
    expect(
      buildTokenRows({
        prompt: '0.000005',
        completion: '0',
        image_token: '0.00001',
        image_output: '0.00004',
      }),
    ).toEqual([
      { billable: 'output_image', unit: 'token', cost_usd: '0.00004' },
      { billable: 'input_image', unit: 'token', cost_usd: '0.00001' },
      { billable: 'input_text', unit: 'token', cost_usd: '0.000005' },
    ])
  })
})

describe('prices of videos', () => {
  test('by the second, and by resolution', () => {
    expect(
      convertVideoSkus(
        entry({
          output_cost_per_second: 0.4,
          output_cost_per_second_1080p: 0.4,
          output_cost_per_second_4k: 0.6,
        }),
      ),
    ).toEqual({ per_second: '0.4', per_second_1080p: '0.4', per_second_4K: '0.6' })
    expect(convertVideoSkus(entry({ output_cost_per_video_per_second: 0.1 }))).toEqual({ per_second: '0.1' })
  })

  test('by the token', () => {
    expect(convertVideoSkus(entry({ output_cost_per_video_token: 7e-6 }))).toEqual({ per_token: '0.000007' })
  })
})
