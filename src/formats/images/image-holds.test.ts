import { describe, expect, test } from 'bun:test'
import { readSnapshot } from '../../catalog/snapshot.ts'
import { computeCost } from '../../ledger/cost.ts'
import { computeWorstCaseCost } from '../../ledger/worst-case.ts'
import { computeRequestSize } from '../call/size.ts'
import { zeroUsage } from '../call/usage.ts'
import { decodeImageBody } from './decode.ts'
import { countImageTokens, findImageTokens } from './image-tokens.ts'

const at = Date.parse('2031-01-01')
const prompt = 'A tree on a hill'

/** The endpoints of the catalog whose images are billed by tokens that are known. */
const endpoints = readSnapshot().models.flatMap(({ id, endpoints }) =>
  endpoints.flatMap(({ upstream_model, pricing }) => {
    const image_tokens = findImageTokens(upstream_model)
    if (!image_tokens || !pricing) return []
    const limits = { context_length: null, max_completion_tokens: null, max_prompt_tokens: null }
    return [{ id, capacity: { ...limits, pricing: pricing as never, image_tokens }, image_tokens }]
  }),
)

const sizes = ['1024x1024', '1024x1536', '1536x1024']
const qualities = ['low', 'medium', 'high']
const tiers = ['1K', '2K', '4K']

/** Requests whose size and quality are known. */
function listRequests(id: string): Record<string, unknown>[] {
  const geometries = id.includes('gpt-image')
    ? sizes.flatMap((size) => qualities.map((quality) => ({ size, quality })))
    : tiers.map((resolution) => ({ resolution }))
  return geometries.flatMap((geometry) => [1, 2, 4].map((n) => ({ ...geometry, n })))
}

describe('R3 the hold of images', () => {
  test('the catalog has endpoints with such models', () => {
    const ids = new Set(endpoints.map(({ id }) => id))
    for (const id of ['gpt-image-1', 'gpt-image-1-mini', 'gpt-image-1.5', 'gpt-image-2'])
      expect(ids).toContain(`openai/${id}`)
    for (const id of ['gpt-image-2.5-flare', 'gpt-image-2.5-sunburst']) expect(ids).toContain(`openai/${id}`)
    for (const id of ['gemini-2.5-flash-image', 'gemini-3-pro-image', 'gemini-3.1-flash-image'])
      expect(ids).toContain(`google/${id}`)
    for (const id of ['gemini-3.1-flash-lite-image', 'gemini-nano-banana-2.1'])
      expect(ids).toContain(`google/${id}`)
  })

  test.each(endpoints.map((endpoint) => [endpoint.id, endpoint] as const))(
    'is at least the charge and at most a fifth more, where size and quality are known: %s',
    (id, { capacity, image_tokens }) => {
      for (const body of listRequests(id)) {
        const { size, call } = decodeImageBody({ model: id, prompt, ...body })
        const tokens = countImageTokens(image_tokens, { ...body, previews: 0 })
        // A model that reasons about an image may write as much text.
        const output = image_tokens.text * call.n
        const usage = { ...zeroUsage, input: 10, output, outputImage: tokens * call.n }
        const { total } = computeCost(usage, capacity.pricing, at)
        const hold = computeWorstCaseCost(size, capacity, at) ?? 0n
        expect([body, hold >= total, hold * 10n <= total * 12n]).toEqual([body, true, true])
      }
    },
  )

  test('is that of the published prices', () => {
    const [model] = endpoints.filter(({ id }) => id === 'openai/gpt-image-1')
    const { size } = decodeImageBody({ model: '', prompt, size: '1024x1024', quality: 'low' })
    const hold = Number(model && computeWorstCaseCost(size, model.capacity, at)) / 1e9
    // USD 0.011 for the image, and a tenth of a cent for the prompt.
    expect(hold).toBeGreaterThan(0.01088)
    expect(hold).toBeLessThan(0.0125)
  })

  test('of gpt-image-2 is what the calculator of its vendor shows, for any size', () => {
    const tokens = findImageTokens('gpt-image-2')
    const count = (size: string | undefined, quality?: string) =>
      tokens && countImageTokens(tokens, { size, quality, previews: 0 })
    expect(count('1024x1024', 'high')).toBe(7024)
    expect(count('1536x1024', 'high')).toBe(5488)
    expect(count('1024x1792', 'high')).toBe(5063)
    expect(count('3584x2048', 'high')).toBe(12_329)
    expect(count('3584x2048')).toBe(12_329)
    // The largest square has the most, at a size that the request leaves open.
    expect(count(undefined, 'high')).toBe(count('2880x2880', 'high'))
    expect(count(undefined, 'low')).toBe(count('2880x2880', 'low'))
    expect(count(undefined)).toBe(count('2880x2880', 'high'))
  })

  describe('of a conversation with a model that also writes text', () => {
    const pricing = { prompt: '0', completion: '0.000001', image_output: '0.00001' }
    const limits = { context_length: 65_536, max_completion_tokens: null, max_prompt_tokens: null }
    const holdOf = (model: string, body: object) => {
      const call = { messages: [], stream: false, unknown: [], ...body }
      const size = computeRequestSize(call, {}, 0)
      return (
        Number(computeWorstCaseCost(size, { ...limits, pricing, image_tokens: findImageTokens(model) }, at)) /
        1000
      )
    }

    test('has as many images as a reply can have, and the rest as text', () => {
      const images = 10 * 1290
      expect(holdOf('gemini-2.5-flash-image', {})).toBe(images * 10 + (32_768 - images))
      expect(holdOf('gemini-2.5-flash-image', { maxTokens: 2000 })).toBe(2000 * 10)
      // Its replies have at most 4,096 tokens.
      expect(holdOf('gemini-3.1-flash-lite-image', {})).toBe(4096 * 10)
      // Only its tokens limit the images of a reply.
      expect(holdOf('gemini-3-pro-image', {})).toBe(32_768 * 10)
    })

    test('has no images where the request excludes them', () => {
      expect(holdOf('gemini-2.5-flash-image', { modalities: ['text'] })).toBe(32_768)
      expect(holdOf('gemini-2.5-flash-image', { modalities: ['IMAGE', 'TEXT'] })).toBeGreaterThan(32_768)
    })
  })

  test('has previews and input images, and what is not known counts as much as it can', () => {
    const tokens = findImageTokens('gpt-image-1')
    const capacity = {
      context_length: null,
      max_completion_tokens: null,
      max_prompt_tokens: null,
      pricing: { prompt: '0.000001', completion: '0.000001' },
      image_tokens: tokens,
    }
    const holdOf = (body: object) => {
      const { size } = decodeImageBody({ model: '', prompt, ...body })
      return Number(computeWorstCaseCost(size, capacity, at)) / 1000
    }
    const known = { size: '1024x1024', quality: 'low' }
    expect(holdOf({ quality: 'low' }) - holdOf(known)).toBe(408 - 272)
    expect(holdOf({ size: '1024x1024' }) - holdOf(known)).toBe(4160 - 272)
    expect(holdOf({ size: 'auto', quality: 'auto' }) - holdOf(known)).toBe(6240 - 272)
    expect(holdOf({ ...known, n: 3, stream: true, partial_images: 2 }) - holdOf(known)).toBe(
      2 * 272 + 3 * 200,
    )
    const url = 'https://example.com/a.png'
    const references = [{ type: 'image_url', image_url: { url } }]
    expect(holdOf({ ...known, input_references: references }) - holdOf(known)).toBe(8400)
  })

  test('a name that only begins like a known one is not known', () => {
    for (const name of [
      'gpt-image-1',
      'openai/gpt-image-1',
      'gpt-image-1.5-2025-12-16',
      'gemini-3-pro-image-preview',
    ])
      expect(findImageTokens(name)).not.toBeNull()
    for (const name of [
      'gpt-image-10',
      'gpt-image-2.6-flare',
      'gpt-image-2.5',
      'gemini-3.1-flash',
      'dall-e-3',
    ])
      expect(findImageTokens(name)).toBeNull()
  })

  test('by the image is that of the prices that can apply', () => {
    const row = (variant: string, cost_usd: string) => ({
      billable: 'output_image',
      unit: 'image',
      variant,
      cost_usd,
    })
    const units = [row('low', '0.01'), row('high', '0.04'), row('high 4K', '0.09'), row('4K', '0.06')]
    const capacity = {
      context_length: null,
      max_completion_tokens: null,
      max_prompt_tokens: null,
      pricing: { prompt: '0', completion: '0', units: units as never },
    }
    const holdOf = (body: object) => {
      const { size } = decodeImageBody({ model: '', prompt, ...body })
      return Number(computeWorstCaseCost(size, capacity, at)) / 1e9
    }
    expect(holdOf({})).toBe(0.09)
    expect(holdOf({ resolution: '1K' })).toBe(0.04)
    expect(holdOf({ quality: 'low' })).toBe(0.06)
    expect(holdOf({ quality: 'low', size: '1024x1024', n: 2 })).toBe(0.02)
  })
})
