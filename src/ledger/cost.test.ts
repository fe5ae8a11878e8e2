import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Pricing, pricing as pricingSchema } from '../catalog/price.ts'
import { type Usage, zeroUsage } from '../formats/call/usage.ts'
import { computeAuxiliaryCost, computeCost } from './cost.ts'

const at = Date.parse('2026-11-16T15:30:00Z') // a Monday
const used = (usage: Partial<Usage>): Usage => ({ ...zeroUsage, ...usage })

describe('R9 the cost of a reply', () => {
  const pricing: Pricing = {
    prompt: '0.000003',
    completion: '0.000015',
    input_cache_read: '0.0000003',
    input_cache_write: '0.00000375',
    input_cache_write_1h: '0.000006',
    internal_reasoning: '0.00002',
    audio: '0.00001',
    request: '0.01',
    web_search: '0.005',
  }

  test('is the sum of its buckets, each at its own price', () => {
    const usage = used({
      input: 100,
      cacheRead: 1000,
      cacheWrite: 10,
      cacheWrite1h: 1,
      output: 50,
      reasoning: 5,
      inputAudio: 2,
      webSearches: 3,
    })
    const { total, prompt, completion } = computeCost(usage, pricing, at)
    expect(prompt).toBe(300_000n + 300_000n + 37_500n + 6_000n + 20_000n)
    expect(completion).toBe(750_000n + 100_000n)
    expect(total).toBe(prompt + completion + 10_000_000n + 15_000_000n)
  })

  test('a bucket without a price of its own costs what the prompt or the completion does', () => {
    const plain: Pricing = { prompt: '0.000001', completion: '0.000002' }
    const usage = used({
      cacheRead: 1,
      cacheWrite: 1,
      cacheWrite1h: 1,
      inputImage: 1,
      inputVideo: 1,
      reasoning: 1,
      outputImage: 1,
    })
    expect(computeCost(usage, plain, at)).toEqual({ total: 9000n, prompt: 5000n, completion: 4000n })
  })

  test('is rounded once, half a nano-dollar up', () => {
    expect(computeCost(used({ input: 3 }), { prompt: '0.0000000005', completion: '0' }, at).total).toBe(2n)
    expect(
      computeCost(used({ input: 1, output: 1 }), { prompt: '0.0000000004', completion: '0.0000000004' }, at)
        .total,
    ).toBe(1n)
  })

  test('every price key counts', () => {
    const all: Pricing = {
      prompt: '1',
      completion: '2',
      input_cache_read: '10',
      input_audio_cache: '20',
      input_cache_write: '100',
      input_cache_write_1h: '200',
      audio: '1000',
      image_token: '10000',
      internal_reasoning: '20',
      audio_output: '200',
      image_output: '2000',
      image: '100000',
      request: '1000000',
      web_search: '10000000',
    }
    const each = used({
      input: 1,
      inputVideo: 1,
      cacheRead: 1,
      cacheReadAudio: 1,
      cacheWrite: 1,
      cacheWrite1h: 1,
      inputAudio: 1,
      inputImage: 1,
      output: 1,
      reasoning: 1,
      outputAudio: 1,
      outputImage: 1,
      webSearches: 3,
    })
    const usd = 1_000_000_000n
    expect(computeCost(each, all, at, { images: 2 })).toEqual({
      prompt: (2n + 10n + 20n + 100n + 200n + 1000n + 10_000n + 200_000n) * usd,
      completion: 2222n * usd,
      total: (211_332n + 2222n + 1_000_000n + 30_000_000n) * usd,
    })
    expect(computeAuxiliaryCost(each, all, at)).toEqual({
      total: 30_000_000n * usd,
      prompt: 0n,
      completion: 0n,
    })
  })

  test('cached audio has the price of cached tokens, or else that of audio', () => {
    const cost = (prices: Partial<Pricing>) =>
      computeCost(used({ cacheReadAudio: 1 }), { prompt: '1', completion: '0', ...prices }, at).prompt /
      10n ** 9n
    expect(cost({})).toBe(1n)
    expect(cost({ audio: '5' })).toBe(5n)
    expect(cost({ audio: '5', input_cache_read: '3' })).toBe(3n)
    expect(cost({ audio: '5', input_cache_read: '3', input_audio_cache: '2' })).toBe(2n)
  })

  test('images cost nothing where they have no price, or a price of zero', () => {
    const plain: Pricing = { prompt: '0.000001', completion: '0' }
    expect(computeCost(used({ input: 1 }), plain, at, { images: 5 }).total).toBe(1000n)
    expect(computeCost(used({ input: 1 }), { ...plain, image: '0' }, at, { images: 5 }).total).toBe(1000n)
  })

  test('a discount applies to the whole cost', () => {
    expect(
      computeCost(used({ input: 1000 }), { prompt: '0.000003', completion: '0', discount: 0.1 }, at).total,
    ).toBe(2_700_000n)
  })

  test('is zero where no price is known', () => {
    expect(computeCost(used({ input: 1000 }), null, at).total).toBe(0n)
  })

  describe('conditions', () => {
    const priced = (overrides: Pricing['overrides']): Pricing => ({
      prompt: '0.000001',
      completion: '0.000001',
      overrides,
    })
    const promptOf = (overrides: Pricing['overrides'], input = 1000, when = at) =>
      computeCost(used({ input }), priced(overrides), when).prompt

    test('a long prompt: more tokens than the threshold', () => {
      const overrides = [{ min_prompt_tokens: 1000, prompt: '0.000002' }]
      expect(promptOf(overrides, 1000)).toBe(1_000_000n)
      expect(promptOf(overrides, 1001)).toBe(2_002_000n)
    })
    test('hours, also past midnight, and days', () => {
      const late = [{ utc_start: 2200, utc_end: 600, prompt: '0.000002' }]
      expect(promptOf(late)).toBe(1_000_000n)
      for (const hour of ['22:00', '23:59', '05:59']) {
        expect(promptOf(late, 1000, Date.parse(`2026-11-16T${hour}:00Z`))).toBe(2_000_000n)
      }
      expect(promptOf(late, 1000, Date.parse('2026-11-16T06:00:00Z'))).toBe(1_000_000n)
      expect(promptOf([{ utc_days: ['monday'], prompt: '0.000002' }])).toBe(2_000_000n)
      expect(promptOf([{ utc_days: ['sunday'], prompt: '0.000002' }])).toBe(1_000_000n)
    })
    test('a window that ends where it begins is the whole day', () => {
      const weekend = [{ utc_start: 0, utc_end: 0, utc_days: ['monday' as const], prompt: '0.000002' }]
      expect(promptOf(weekend)).toBe(2_000_000n)
      expect(promptOf(weekend, 1000, at + 86_400_000)).toBe(1_000_000n)
    })
    test('every minute of a week has the day and time of the calendar', () => {
      fc.assert(
        fc.property(fc.integer({ min: 0, max: 4_000_000_000_000 }), (when) => {
          const date = new Date(when)
          const day = date.toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' }).toLowerCase()
          const start = date.getUTCHours() * 100 + date.getUTCMinutes()
          const next = new Date(when + 60_000)
          const end = next.getUTCHours() * 100 + next.getUTCMinutes()
          const window = { utc_start: start, utc_end: end, utc_days: [day as 'monday'], prompt: '0.000002' }
          expect(promptOf([window], 1000, when)).toBe(2_000_000n)
          expect(promptOf([window], 1000, when + 60_000)).toBe(1_000_000n)
        }),
      )
    })
    test('all conditions of an entry must hold', () => {
      const both = [{ min_prompt_tokens: 10, utc_days: ['sunday' as const], prompt: '0.000002' }]
      expect(promptOf(both)).toBe(1_000_000n)
    })
    test('cached tokens count toward a long prompt, and buckets without a price of their own follow the new one', () => {
      const pricing = priced([{ min_prompt_tokens: 100, prompt: '0.000003' }])
      expect(computeCost(used({ input: 1, cacheRead: 100 }), pricing, at).prompt).toBe(303_000n)
    })
    test('the example of docs/billing.md', async () => {
      const page = await Bun.file(`${import.meta.dir}/../../docs/billing.md`).text()
      const [, json = ''] = /```json\n([\s\S]*?)```/.exec(page) ?? []
      const usage = used({ input: 50_000, cacheRead: 200_000, output: 1000 })
      const night = Date.parse('2026-11-16T23:30:00Z')
      expect(computeCost(usage, pricingSchema.parse(JSON.parse(json)), night).total).toBe(333_000_000n)
    })
    test('later entries win, key by key', () => {
      expect(promptOf([{ prompt: '0.000002' }, { prompt: '0.000003' }, { completion: '0.000009' }])).toBe(
        3_000_000n,
      )
    })
  })

  test('never negative, and grows with every bucket', () => {
    const count = fc.integer({ min: 0, max: 10_000_000 })
    fc.assert(
      fc.property(count, count, count, (input, output, more) => {
        const less = computeCost(used({ input, output }), pricing, at).total
        expect(less).toBeGreaterThanOrEqual(0n)
        expect(computeCost(used({ input: input + more, output }), pricing, at).total).toBeGreaterThanOrEqual(
          less,
        )
      }),
    )
  })
})
