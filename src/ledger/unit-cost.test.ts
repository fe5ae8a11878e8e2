import { describe, expect, test } from 'bun:test'
import type { EndpointPricing } from '../catalog/price.ts'
import type { BilledUnits } from '../formats/call/units.ts'
import { zeroUsage } from '../formats/call/usage.ts'
import { priceReply } from './charge.ts'
import { computeCost } from './cost.ts'
import { computeWorstCaseCost } from './worst-case.ts'

const at = Date.parse('2026-11-16T12:00:00Z')
const pricing: EndpointPricing = {
  prompt: '0',
  completion: '0',
  units: [
    { billable: 'output_image', unit: 'image', cost_usd: '0.04', variant: '1024x1024' },
    { billable: 'output_image', unit: 'image', cost_usd: '0.08', variant: 'high 1024x1024' },
    { billable: 'output_image', unit: 'megapixel', cost_usd: '0.003' },
    { billable: 'input_audio', unit: 'second', cost_usd: '0.0001' },
    { billable: 'input_text', unit: 'character', cost_usd: '0.000015' },
  ],
}

function images(quantity: number, ...variants: string[]): BilledUnits {
  return { billable: 'output_image', unit: 'image', quantity, variants }
}

describe('R9 the cost of what is billed by other units', () => {
  const total = (...units: BilledUnits[]) => computeCost(zeroUsage, pricing, at, { units })

  test('the most specific variant wins; an unknown one costs the highest price', () => {
    expect(total(images(2, '1024x1024')).total).toBe(80_000_000n)
    expect(total(images(1, 'high 1024x1024', '1024x1024')).total).toBe(80_000_000n)
    expect(total(images(1, '512x512')).total).toBe(80_000_000n)
  })

  test('parts of a second and of a megapixel are exact', () => {
    const seconds: BilledUnits = { billable: 'input_audio', unit: 'second', quantity: 1_500, variants: [] }
    expect(total(seconds)).toEqual({ total: 150_000n, prompt: 150_000n, completion: 0n })
    const pixels: BilledUnits = {
      billable: 'output_image',
      unit: 'megapixel',
      quantity: 1_048_576,
      variants: [],
    }
    expect(total(pixels)).toEqual({ total: 3_145_728n, prompt: 0n, completion: 3_145_728n })
  })

  test('what has no price row is free, and a discount applies', () => {
    expect(total({ billable: 'search', unit: 'search', quantity: 3, variants: [] }).total).toBe(0n)
    const cheaper = { ...pricing, discount: 0.5 }
    expect(computeCost(zeroUsage, cheaper, at, { units: [images(1, '1024x1024')] }).total).toBe(20_000_000n)
  })

  test('a quantity that cannot be one is not billed, and flagged', () => {
    const reply = { usage: zeroUsage, complete: true, characters: 0, finished: true, failed: false }
    const terms = {
      pricing,
      at,
      isByok: false,
      byokFee: 0,
      hold: { amount: 10n ** 12n, byok: 0n },
      promptEstimate: () => 0,
      inputImages: 0,
    }
    const charge = priceReply({ ...reply, units: [images(1, '1024x1024'), images(0.5), images(-1)] }, terms)
    expect(charge).toMatchObject({ cost: 40_000_000n, flag: 'implausible' })
    expect(priceReply({ ...reply, failed: true, units: [images(1)] }, terms).cost).toBe(0n)
  })

  test('R3 the worst case includes them', () => {
    const size = {
      promptTokens: 10,
      outputTokens: 0,
      choices: 1,
      images: 0,
      hasAudio: false,
      hasLongCache: false,
      webSearches: 0,
      units: [images(4)],
    }
    const capacity = { pricing, context_length: null, max_completion_tokens: null, max_prompt_tokens: null }
    expect(computeWorstCaseCost(size, capacity, at)).toBe(320_000_000n)
  })
})
