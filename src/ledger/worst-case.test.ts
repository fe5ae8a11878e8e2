import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Pricing, PricingOverride } from '../catalog/price.ts'
import type { RequestSize } from '../formats/call/size.ts'
import { type Usage, zeroUsage } from '../formats/call/usage.ts'
import { computeCost } from './cost.ts'
import { computeWorstCaseCost, type EndpointCapacity } from './worst-case.ts'

const at = Date.parse('2026-11-16T15:30:00Z') // a Monday

const size: RequestSize = {
  promptTokens: 1000,
  outputTokens: 100,
  choices: 1,
  images: 0,
  hasAudio: false,
  hasLongCache: false,
  webSearches: 0,
  units: [],
}

const free: Pricing = { prompt: '0', completion: '0' }
const endpoint: EndpointCapacity = {
  pricing: null,
  context_length: null,
  max_completion_tokens: null,
  max_prompt_tokens: null,
}

const ceiling = (
  pricing: Partial<Pricing>,
  request: Partial<RequestSize> = {},
  limits: Partial<EndpointCapacity> = {},
) =>
  computeWorstCaseCost(
    { ...size, ...request },
    { ...endpoint, ...limits, pricing: { ...free, ...pricing } },
    at,
  )

describe('R3 the worst case of a request', () => {
  test('R8 is unknown without a price, and zero when free', () => {
    expect(computeWorstCaseCost(size, endpoint, at)).toBeNull()
    expect(ceiling({})).toBe(0n)
  })

  test('counts every byte as a token, and all the requested output for each choice', () => {
    expect(ceiling({ prompt: '0.000001' })).toBe(1_000_000n)
    expect(ceiling({ completion: '0.000002' })).toBe(200_000n)
    expect(ceiling({ completion: '0.000002' }, { choices: 4 })).toBe(800_000n)
  })

  test('the endpoint bounds prompt and output', () => {
    const limits = { max_prompt_tokens: 300, context_length: 500, max_completion_tokens: 40 }
    expect(ceiling({ prompt: '0.000001' }, {}, limits)).toBe(300_000n)
    expect(ceiling({ prompt: '0.000001' }, {}, { context_length: 500 })).toBe(500_000n)
    expect(ceiling({ completion: '0.000001' }, {}, limits)).toBe(40_000n)
  })

  test('each of several inputs may fill the context', () => {
    const price = { prompt: '0.000001' }
    expect(ceiling(price, { prompts: 2 }, { context_length: 400 })).toBe(800_000n)
    expect(ceiling(price, { prompts: 5 }, { context_length: 400 })).toBe(1_000_000n)
  })

  test('without a limit the output is that of the endpoint, or 32,768 if its context is as large', () => {
    const output = (limits: Partial<EndpointCapacity>) =>
      ceiling({ completion: '0.000000001' }, { outputTokens: null }, limits)
    expect(output({ max_completion_tokens: 8000, context_length: 100_000 })).toBe(8000n)
    expect(output({ context_length: 32_000 })).toBe(32_000n)
    expect(output({ context_length: 200_000 })).toBe(32_768n)
    expect(output({})).toBe(32_768n)
  })

  test('uses the highest price a token can have; audio and the one-hour cache only where they are requested', () => {
    const write: Partial<Pricing> = { prompt: '0.000001', input_cache_write: '0.000002' }
    expect(ceiling(write)).toBe(2_000_000n)
    const rare: Partial<Pricing> = { ...write, input_cache_write_1h: '0.000004', audio: '0.000008' }
    expect(ceiling(rare)).toBe(2_000_000n)
    expect(ceiling(rare, { hasLongCache: true })).toBe(4_000_000n)
    expect(ceiling(rare, { hasAudio: true })).toBe(8_000_000n)
    expect(ceiling({ completion: '0.000001', internal_reasoning: '0.000003' })).toBe(300_000n)
    expect(ceiling({ completion: '0.000001', image_output: '0.00003' })).toBe(3_000_000n)
  })

  test('the price of the request, its images and its searches', () => {
    const items = { request: '0.01', image: '0.002', web_search: '0.005' }
    expect(ceiling(items)).toBe(10_000_000n)
    expect(ceiling(items, { images: 3, webSearches: 2 })).toBe(26_000_000n)
  })

  test('less the discount, rounded up', () => {
    expect(ceiling({ prompt: '0.000001', discount: 0.25 })).toBe(750_000n)
    expect(ceiling({ request: '0.0000000001' })).toBe(1n)
  })

  test('a prompt that may be long has the higher of both prices', () => {
    const dearer = [{ min_prompt_tokens: 999, prompt: '0.000002' }]
    expect(ceiling({ prompt: '0.000001', overrides: dearer })).toBe(2_000_000n)
    expect(ceiling({ prompt: '0.000001', overrides: [{ ...dearer[0], min_prompt_tokens: 1000 }] })).toBe(
      1_000_000n,
    )
    const cheaper = [{ min_prompt_tokens: 500, prompt: '0.0000005' }]
    expect(ceiling({ prompt: '0.000001', overrides: cheaper })).toBe(1_000_000n)
  })

  test('times of day are those of the request', () => {
    const overrides: PricingOverride[] = [{ utc_start: 1500, utc_end: 1600, prompt: '0.000009' }]
    expect(ceiling({ prompt: '0.000001', overrides })).toBe(9_000_000n)
    expect(ceiling({ prompt: '0.000001', overrides: [{ ...overrides[0], utc_days: ['sunday'] }] })).toBe(
      1_000_000n,
    )
  })

  test('sizes without bounds are not an error', () => {
    for (const promptTokens of [Number.POSITIVE_INFINITY, 1e300, Number.MAX_SAFE_INTEGER]) {
      expect(ceiling({ prompt: '0.000001' }, { promptTokens }, { context_length: 10 })).toBe(10_000n)
      expect(ceiling({ prompt: '0.000001' }, { promptTokens })).toBe(1_000_000_000_000_000n)
    }
    expect(ceiling({ prompt: '0.000001' }, { promptTokens: Number.NaN, outputTokens: -5 })).toBe(0n)
  })
})

const price = fc.oneof(
  fc.constant('0'),
  fc.integer({ min: 0, max: 99_999 }).map((digits) => `0.${String(digits).padStart(9, '0')}`),
  fc.stringMatching(/^\d{1,30}$/).map((digits) => `0.0000${digits.slice(0, 26)}`),
)
const optional = (...keys: string[]) => Object.fromEntries(keys.map((key) => [key, price]))
const conditional = [
  'audio',
  'input_audio_cache',
  'input_cache_read',
  'input_cache_write',
  'input_cache_write_1h',
]
const hours = fc.record({ utc_start: fc.constantFrom(0, 930, 1500), utc_end: fc.constantFrom(0, 1531, 2359) })
const override = fc
  .tuple(
    fc.record(
      {
        min_prompt_tokens: fc.nat(5000),
        utc_days: fc.subarray(['monday', 'sunday'] as const),
        ...optional('prompt', 'completion', ...conditional),
      },
      { requiredKeys: [] },
    ),
    fc.oneof(hours, fc.constant({})),
  )
  .map(([prices, window]) => ({ ...prices, ...window }) as PricingOverride)

const pricings = fc.record(
  {
    prompt: price,
    completion: price,
    ...optional(...conditional),
    ...optional('audio_output', 'image', 'image_output', 'image_token', 'internal_reasoning', 'request'),
    ...optional('web_search'),
    discount: fc.double({ min: 0, max: 1, noNaN: true }),
    overrides: fc.array(override, { maxLength: 4 }),
  },
  { requiredKeys: ['prompt', 'completion'] },
) as fc.Arbitrary<Pricing>

const sizes: fc.Arbitrary<RequestSize> = fc.record({
  promptTokens: fc.nat(10_000),
  outputTokens: fc.option(fc.nat(10_000)),
  choices: fc.integer({ min: 1, max: 4 }),
  images: fc.nat(4),
  hasAudio: fc.boolean(),
  hasLongCache: fc.boolean(),
  webSearches: fc.nat(5),
  units: fc.constant([]),
})

const limit = fc.option(fc.integer({ min: 1, max: 12_000 }))
const capacities = fc.record({
  context_length: limit,
  max_completion_tokens: limit,
  max_prompt_tokens: limit,
})

/** Some of each kind, in total no more than the limit. */
function shared(total: number, kinds: (keyof Usage)[], weights: number[]): Partial<Usage> {
  let left = total
  const usage: Record<string, number> = {}
  kinds.forEach((kind, index) => {
    usage[kind] = Math.floor(left * (weights[index] ?? 0))
    left -= usage[kind]
  })
  return usage
}

const weights = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 12, maxLength: 12 })

test('R3 no usage within the size costs more, whatever the prices', () => {
  fc.assert(
    fc.property(pricings, sizes, capacities, weights, (pricing, request, limits, parts) => {
      const { max_completion_tokens, context_length, max_prompt_tokens } = limits
      const prompt = Math.min(request.promptTokens, max_prompt_tokens ?? 1e9, context_length ?? 1e9)
      const able = Math.min(max_completion_tokens ?? 1e9, context_length ?? 1e9)
      const output = Math.min(request.outputTokens ?? 32_768, able) * request.choices
      const inputs: (keyof Usage)[] = ['cacheRead', 'cacheWrite', 'inputImage', 'inputVideo']
      if (request.hasLongCache) inputs.push('cacheWrite1h')
      if (request.hasAudio) inputs.push('inputAudio', 'cacheReadAudio')
      const usage: Usage = {
        ...zeroUsage,
        ...shared(prompt, [...inputs, 'input'], parts),
        ...shared(output, ['reasoning', 'outputAudio', 'outputImage', 'output'], parts.slice(8)),
        webSearches: request.webSearches,
      }
      const most = computeWorstCaseCost(request, { ...limits, pricing }, at)
      expect(computeCost(usage, pricing, at, request).total <= most!).toBe(true)
    }),
    { numRuns: 2000 },
  )
})
