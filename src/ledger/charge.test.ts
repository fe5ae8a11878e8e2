import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Pricing } from '../catalog/price.ts'
import { type Usage, zeroUsage } from '../formats/call/usage.ts'
import { type BillableReply, type ChargeTerms, computeFee, priceReply, zeroCharge } from './charge.ts'
import { computeCost } from './cost.ts'

const at = Date.parse('2026-11-16T15:30:00Z')

const pricing: Pricing = {
  prompt: '0.000001',
  completion: '0.000002',
  input_cache_read: '0.0000001',
  request: '0.003',
  image: '0.0005',
  web_search: '0.01',
}

const inputImages = 2
const promptEstimate = 700
const much = 10n ** 15n

function terms(changes: Partial<ChargeTerms> = {}): ChargeTerms {
  return {
    pricing,
    at,
    isByok: false,
    byokFee: 0.05,
    hold: { amount: much, byok: 0n },
    promptEstimate: () => promptEstimate,
    inputImages,
    ...changes,
  }
}

const used = (usage: Partial<Usage>): Usage => ({ ...zeroUsage, ...usage })

const plain: BillableReply = {
  usage: used({ input: 1000, output: 50 }),
  complete: true,
  characters: 200,
  finished: true,
  failed: false,
}

describe('R6 the settlement table of docs/billing.md', async () => {
  const page = await Bun.file(`${import.meta.dir}/../../docs/billing.md`).text()
  const [, table = ''] = page.split(/<!-- \/?settlement -->/)
  const rows = table
    .trim()
    .split('\n')
    .slice(2)
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    )

  const characters = 4000
  const reported = used({ input: 1000, cacheRead: 200, webSearches: 2, reportedCost: 0.5 })

  const counts: Record<string, (hasOutput: boolean) => Usage | null> = {
    complete: (hasOutput) => ({ ...reported, output: hasOutput ? 50 : 0 }),
    'explicit zero': () => zeroUsage,
    // Some providers start with a count of one.
    partial: () => ({ ...reported, output: 1 }),
    none: () => null,
    implausible: () => ({ ...reported, output: 60_000_000 }),
  }

  const over = { complete: true, finished: true, failed: false }
  const ends: Record<string, Pick<BillableReply, 'complete' | 'finished' | 'failed'>> = {
    stop: over,
    length: over,
    'tool calls': over,
    'content filter': over,
    error: { ...over, failed: true },
    blank: { ...over, finished: false },
    'stream cut': { ...over, complete: false, finished: false },
    'client gone': { ...over, complete: false, finished: false },
    'client gone, read to the end': over,
  }

  const ours = used({ input: promptEstimate })
  const prices: Record<string, (reply: BillableReply) => bigint> = {
    "provider's count": ({ usage }) => computeCost(usage!, pricing, at, { images: inputImages }).total,
    'completed count': () =>
      computeCost({ ...reported, output: characters / 4 }, pricing, at, { images: inputImages }).total,
    'our count': (reply) =>
      computeCost({ ...ours, output: reply.characters / 4 }, pricing, at, { images: inputImages }).total,
    'searches only': ({ usage }) => BigInt(usage!.webSearches) * 10_000_000n,
    nothing: () => 0n,
  }

  test.each(rows)('%s | %s | output: %s | %s | %s', (count, end, output, charged, source) => {
    const isPartial = count === 'partial'
    const reply: BillableReply = {
      ...ends[end!]!,
      ...(isPartial && { complete: false }),
      usage: counts[count!]!(output === 'yes'),
      characters: output === 'yes' ? characters : 0,
    }
    const charge = priceReply(reply, terms())
    const price = prices[charged!]!(reply)
    expect({ cost: charge.cost, listPrice: charge.listPrice.total }).toEqual({
      cost: price,
      listPrice: price,
    })
    const isUncounted = reply.complete && source === 'estimated'
    const flag = count === 'implausible' ? 'implausible' : isUncounted ? 'uncounted' : null
    expect(charge).toMatchObject({ source, byok: 0n, flag })
    // A BYOK key changes who is paid, never what is counted.
    const withByok = priceReply(reply, terms({ isByok: true, hold: { amount: much, byok: much } }))
    expect(withByok).toMatchObject({
      listPrice: charge.listPrice,
      byok: price,
      cost: computeFee(price, 0.05),
    })
  })

  test('has every end for every count, once', () => {
    const finished = ['stop', 'length', 'tool calls', 'content filter', 'error']
    const expected: Record<string, string[]> = {
      complete: [...finished, 'blank', 'client gone, read to the end'],
      'explicit zero': [...finished, 'blank'],
      partial: [...finished, 'stream cut', 'client gone'],
      none: [...finished, 'blank', 'stream cut', 'client gone'],
    }
    for (const [count, all] of Object.entries(expected)) {
      const there = new Set(rows.filter((row) => row[0] === count).map((row) => row[1]!))
      expect({ count, there: [...there].sort() }).toEqual({ count, there: all.sort() })
    }
    expect(new Set(rows.map((row) => row.slice(0, 3).join())).size).toBe(rows.length)
    expect(new Set(rows.map((row) => row[3]!))).toEqual(new Set(Object.keys(prices)))
  })
})

describe('R6 what is counted', () => {
  test('the count of a complete reply is the one the provider reports, even if it is below the estimate', () => {
    expect(priceReply({ ...plain, characters: 1_000_000 }, terms()).usage).toEqual(plain.usage!)
  })

  test('a count from an incomplete reply is completed, never reduced, and its prompt is estimated only when it has none', () => {
    const cut = { ...plain, complete: false, finished: false }
    const { usage } = priceReply({ ...cut, usage: used({ input: 9, reasoning: 90, output: 5 }) }, terms())
    expect(usage).toEqual(used({ input: 9, reasoning: 90, output: 5 }))
    expect(priceReply({ ...cut, usage: used({ output: 1 }) }, terms()).usage).toEqual(
      used({ input: promptEstimate, output: 50 }),
    )
  })

  test('a prompt that is not charged is not estimated', () => {
    const never = () => {
      throw new Error('estimated')
    }
    priceReply(plain, terms({ promptEstimate: never }))
    priceReply({ ...plain, usage: null, failed: true }, terms({ promptEstimate: never }))
    priceReply({ ...plain, usage: null, finished: false, characters: 0 }, terms({ promptEstimate: never }))
  })

  test.each<[string, Partial<Usage>]>([
    ['too many prompt tokens', { input: 50_000_001 }],
    ['too many in all', { input: 30_000_000, cacheRead: 30_000_000 }],
    ['too much output', { reasoning: 50_000_001 }],
    ['too many searches', { webSearches: 50_000_001 }],
    ['less than nothing', { input: -1 }],
    ['a fraction', { output: 1.5 }],
    ['no number', { cacheRead: Number.NaN }],
  ])('an implausible count is replaced by an estimate and flagged: %s', (_, usage) => {
    const charge = priceReply({ ...plain, usage: used(usage) }, terms())
    expect(charge).toMatchObject({ source: 'estimated', flag: 'implausible' })
    expect(charge.usage).toEqual(used({ input: promptEstimate, output: 50 }))
  })

  test('50 million tokens are still plausible', () => {
    expect(priceReply({ ...plain, usage: used({ input: 50_000_000 }) }, terms()).flag).toBeNull()
  })
})

describe('R3 a charge never exceeds its hold', () => {
  test('it is capped at the hold and flagged', () => {
    const charge = priceReply(plain, terms({ hold: { amount: 4_000_000n, byok: 0n } }))
    expect(charge).toMatchObject({ cost: 4_000_000n, flag: 'capped', listPrice: { total: 5_100_000n } })
    expect(priceReply(plain, terms({ hold: { amount: 5_100_000n, byok: 0n } })).flag).toBeNull()
  })

  test('so is BYOK usage', () => {
    const hold = { amount: 255_000n, byok: 5_000_000n }
    expect(priceReply(plain, terms({ isByok: true, hold }))).toMatchObject({
      cost: 255_000n,
      byok: 5_000_000n,
      flag: 'capped',
    })
  })

  test('whatever a provider counts, and it is never negative', () => {
    const count = fc.oneof(fc.nat(100_000_000), fc.constantFrom(-1, 0.5, Number.NaN, 1e300))
    const replies = fc.record({
      usage: fc.option(fc.record({ input: count, output: count, webSearches: count })),
      complete: fc.boolean(),
      characters: fc.nat(10_000_000),
      finished: fc.boolean(),
      failed: fc.boolean(),
    })
    fc.assert(
      fc.property(replies, fc.boolean(), fc.bigInt(0n, 10n ** 12n), (generated, isByok, amount) => {
        const reply = { ...generated, usage: generated.usage && used(generated.usage) }
        const { cost, byok, listPrice, upstream } = priceReply(
          reply,
          terms({ isByok, hold: { amount, byok: amount } }),
        )
        expect(cost >= 0n && byok >= 0n && listPrice.total >= 0n).toBe(true)
        // Credits that were held and not charged leave room for BYOK usage.
        expect(cost <= amount && cost + byok <= 2n * amount).toBe(true)
        expect(isByok ? upstream : byok).toBe(isByok ? byok : 0n)
      }),
      {
        examples: [
          [{ usage: null, complete: false, characters: 1, finished: false, failed: false }, true, 235_101n],
        ],
      },
    )
  })
})

describe('the fee for BYOK keys', () => {
  const byokTerms = (byokFee: number) => terms({ isByok: true, byokFee, hold: { amount: much, byok: much } })

  test('is a share of the list price, which is recorded separately', () => {
    const usage = used({ input: 19_000_000 - 3_000 - 2 * 500 })
    const charge = priceReply({ ...plain, usage }, byokTerms(0.05))
    expect(charge).toMatchObject({
      cost: 950_000_000n,
      byok: 19_000_000_000n,
      listPrice: { total: 19_000_000_000n },
    })
    expect(priceReply(plain, byokTerms(0))).toMatchObject({ cost: 0n, byok: 5_100_000n })
    expect(priceReply(plain, byokTerms(1))).toMatchObject({ cost: 5_100_000n, byok: 5_100_000n })
  })

  test('is rounded once, half a nano-dollar up', () => {
    expect(computeFee(10n, 0.05)).toBe(1n)
    expect(computeFee(9n, 0.05)).toBe(0n)
    expect(computeFee(1_000_000_007n, 0.055)).toBe(55_000_000n)
  })

  test('applies to searches when only those are charged', () => {
    const usage = used({ input: 10, webSearches: 1 })
    const charge = priceReply({ ...plain, usage, failed: true }, byokTerms(0.05))
    expect(charge).toMatchObject({ cost: 500_000n, byok: 10_000_000n })
  })
})

describe('R8 R10 unknown prices and reported costs', () => {
  const reported = (reportedCost: number | null) => ({
    ...plain,
    usage: used({ input: 1000, output: 50, reportedCost }),
  })

  test('R10 the computed cost is charged, and the reported one recorded', () => {
    const charge = priceReply(reported(0.5), terms())
    expect(charge.cost).toBe(5_100_000n)
    expect(charge.usage.reportedCost).toBe(0.5)
  })

  test.each([
    [0.000146625, 146_625n],
    [1e-9, 1n],
    [0, 0n],
    [null, 0n],
    [-1, 0n],
    [Number.NaN, 0n],
    [1e7, 0n],
  ])('R8 without a price, a reported cost of %p is the price', (cost, nanos) => {
    expect(priceReply(reported(cost), terms({ pricing: null }))).toMatchObject({
      cost: nanos,
      listPrice: { total: nanos, prompt: 0n, completion: 0n },
    })
  })

  test('R8 without a price, an error is free whatever is reported', () => {
    expect(priceReply({ ...reported(0.5), failed: true }, terms({ pricing: null })).cost).toBe(0n)
  })

  test('R8 a free reply costs nothing and is still counted', () => {
    const charge = priceReply(plain, terms({ pricing: { prompt: '0', completion: '0' } }))
    expect(charge).toMatchObject({ cost: 0n, usage: plain.usage!, source: 'reported' })
  })
})

test('the zero charge is zero throughout', () => {
  expect(zeroCharge).toEqual({
    usage: zeroUsage,
    units: [],
    source: 'none',
    listPrice: { total: 0n, prompt: 0n, completion: 0n },
    cost: 0n,
    byok: 0n,
    upstream: 0n,
    flag: null,
  })
})
