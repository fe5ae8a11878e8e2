import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Usage, zeroUsage } from '../formats/call/usage.ts'
import { computeCost } from './cost.ts'
import { amountDecimals, itemizeCost, sumAmounts } from './cost-lines.ts'

const { reportedCost: _, ...counters } = zeroUsage
const usages = fc
  .record(Object.fromEntries(Object.keys(counters).map((name) => [name, fc.nat(100_000)])))
  .map((counts) => ({ ...zeroUsage, ...counts }) as Usage)
const price = fc.nat(10_000).map((n) => (n / 1e8).toFixed(10))

test('the lines add up to the cost, to the nano-dollar, with every kind of price and discount', () => {
  const pricings = fc.record({
    prompt: price,
    completion: price,
    request: price,
    image: price,
    web_search: price,
    input_cache_read: price,
    input_cache_write: price,
    internal_reasoning: price,
    discount: fc.nat(99).map((percent) => percent / 100),
  })
  fc.assert(
    fc.property(usages, pricings, fc.nat(5), (usage, pricing, images) => {
      const { total } = computeCost(usage, pricing, 0, { images })
      const nano = 10n ** BigInt(amountDecimals - 9)
      const exact = sumAmounts(itemizeCost(usage, pricing, 0, { images }))
      expect((exact + nano / 2n) / nano).toBe(total)
    }),
  )
})
