import { describe, expect, test } from 'bun:test'
import { zeroUsage } from '../../call/usage.ts'
import { countImageTokens, findImageTokens } from '../../catalogue/image-tokens.ts'
import snapshot from '../../catalogue/snapshot.json'
import { computeCost } from '../../ledger/cost.ts'
import { computeWorstCaseCost } from '../../ledger/worst-case.ts'
import { decodeImageBody } from './decode.ts'

const at = Date.parse('2031-01-01')
const prompt = 'A tree on a hill'

/** The endpoints of the catalogue whose images are billed by tokens that are known. */
const endpoints = snapshot.models.flatMap(({ id, endpoints }) =>
  endpoints.flatMap(({ upstream_model, ...endpoint }) => {
    const image_tokens = findImageTokens(upstream_model)
    const pricing = 'pricing' in endpoint ? endpoint.pricing : undefined
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
  test('the catalogue has endpoints with such models', () => {
    const ids = new Set(endpoints.map(({ id }) => id))
    for (const id of ['gpt-image-1', 'gpt-image-1-mini', 'gpt-image-1.5'])
      expect(ids).toContain(`openai/${id}`)
    for (const id of ['gemini-2.5-flash-image', 'gemini-3-pro-image', 'gemini-3.1-flash-image'])
      expect(ids).toContain(`google/${id}`)
    expect(ids).not.toContain('openai/gpt-image-2')
  })

  test.each(endpoints.map((endpoint) => [endpoint.id, endpoint] as const))(
    'is at least the charge and at most a fifth more, where size and quality are known: %s',
    (id, { capacity, image_tokens }) => {
      for (const body of listRequests(id)) {
        const { size, call } = decodeImageBody({ model: id, prompt, ...body })
        const tokens = countImageTokens(image_tokens, { ...body, previews: 0 })
        const usage = { ...zeroUsage, input: 10, outputImage: tokens * call.n }
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
    for (const name of ['gpt-image-10', 'gpt-image-2', 'gemini-3.1-flash-lite-image', 'dall-e-3'])
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
