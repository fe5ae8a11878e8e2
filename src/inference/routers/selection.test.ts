import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type AutoOptions, selectAuto } from './auto.ts'
import type { RouterCandidate } from './candidate.ts'
import {
  bandOfTier,
  bandOfTradeoff,
  computePercentiles,
  costTiers,
  isInBand,
  pickBand,
} from './cost-bands.ts'
import { selectFree } from './free.ts'
import { compileModelPatterns } from './model-patterns.ts'
import { findFrontier, resolveCodingTier, selectPareto } from './pareto.ts'

function candidate(id: string, facts: Partial<RouterCandidate> = {}): RouterCandidate {
  return {
    id,
    price: 1,
    promptPrice: 1,
    paidPromptPrice: null,
    isStable: true,
    latency: null,
    throughput: null,
    score: null,
    codingScore: null,
    standing: 0,
    taskShare: 0,
    spendShare: 0,
    ...facts,
  }
}

const anyBand = { from: 0, to: 100, isClosed: true }
const free: AutoOptions = { isAllowed: null, isExcluded: null, band: anyBand, pinned: null, remembered: null }

const share = fc.double({ min: 0, max: 1, noNaN: true })
const candidateList = fc.uniqueArray(
  fc.record({
    id: fc.stringMatching(/^[a-c]{1,3}\/[a-d]{1,4}(:free)?$/),
    price: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.constant(Number.POSITIVE_INFINITY)),
    promptPrice: fc.integer({ min: 0, max: 20 }),
    paidPromptPrice: fc.option(fc.integer({ min: 0, max: 20 })),
    isStable: fc.boolean(),
    latency: fc.option(fc.integer({ min: 1, max: 999 })),
    throughput: fc.option(fc.integer({ min: 1, max: 999 })),
    score: fc.option(share),
    codingScore: fc.option(share),
    standing: share,
    taskShare: share,
    spendShare: share,
  }),
  { selector: ({ id }) => id, minLength: 0, maxLength: 12 },
)
const patternList = fc.array(fc.stringMatching(/^[a-d*/]{0,6}$/), { maxLength: 4 })

describe('auto', () => {
  test('the chosen model is always allowed, and an exclusion always wins', () => {
    fc.assert(
      fc.property(
        candidateList,
        patternList,
        patternList,
        fc.constantFrom(...costTiers),
        fc.stringMatching(/^[a-c]\/[a-d]$/),
        (candidates, allowed, excluded, tier, kept) => {
          const isAllowed = compileModelPatterns(allowed, 'allowed_models')
          const isExcluded = compileModelPatterns(excluded, 'excluded_models')
          const options = { isAllowed, isExcluded, band: bandOfTier(tier), pinned: kept, remembered: kept }
          const selection = selectAuto(candidates, options)
          const usable = candidates.filter(({ id }) => isAllowed(id) && !isExcluded(id))
          expect(selection === null).toBe(usable.length === 0)
          for (const id of selection?.models ?? []) {
            expect(isAllowed(id)).toBe(true)
            expect(isExcluded(id)).toBe(false)
          }
          expect(new Set(selection?.models).size).toBe(selection?.models.length ?? 0)
        },
      ),
    )
  })

  test('the same inputs in another order give the same decision', () => {
    fc.assert(
      fc.property(candidateList, fc.constantFrom(...costTiers), (candidates, tier) => {
        const options = { ...free, band: bandOfTier(tier) }
        expect(selectAuto(candidates.toReversed(), options)).toEqual(selectAuto(candidates, options))
      }),
    )
  })

  test('spending on the task ranks before spending, benchmarks and price; failing models come last', () => {
    const models = [
      candidate('a/cheap'),
      candidate('a/scored', { score: 0.9 }),
      candidate('a/bought', { spendShare: 0.5 }),
      candidate('a/tasked', { taskShare: 0.1 }),
      candidate('a/failing', { taskShare: 1, isStable: false }),
    ]
    const selection = selectAuto(models, free)
    expect(selection?.models).toEqual(['a/tasked', 'a/bought', 'a/scored'])
    expect(selection?.reason).toContain('this kind of task')
    expect(selection?.runnersUp).toEqual([
      { model: 'a/cheap', reason: 'Ranked lower.' },
      { model: 'a/failing', reason: 'Ranked lower.' },
    ])
  })

  test('without benchmarks the model with the best standing is chosen, not the cheapest', () => {
    const models = [
      candidate('a/cheap', { price: 0.1 }),
      candidate('a/strong', { standing: 0.9, price: 2 }),
      candidate('a/dearest', { price: 900 }),
    ]
    const selection = selectAuto(models, free)
    expect(selection?.models).toEqual(['a/strong', 'a/cheap', 'a/dearest'])
    expect(selection?.reason).toContain('No benchmark')
  })

  test('the model of the session is kept while it is a candidate', () => {
    const models = [candidate('a/one', { taskShare: 1 }), candidate('a/two')]
    expect(selectAuto(models, { ...free, remembered: 'a/two' })?.models).toEqual(['a/two', 'a/one'])
    expect(selectAuto(models, { ...free, remembered: 'a/three' })?.models).toEqual(['a/one', 'a/two'])
    const isExcluded = compileModelPatterns(['a/two'], 'excluded_models')
    expect(selectAuto(models, { ...free, isExcluded, remembered: 'a/two' })?.models).toEqual(['a/one'])
  })
})

describe('cost bands', () => {
  const priced = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map((price) => candidate(`a/m${price}`, { price }))

  test('a tier is a fifth of the prices, and the last includes its end', () => {
    const pick = (tier: (typeof costTiers)[number]) =>
      pickBand(priced, computePercentiles(priced), bandOfTier(tier)).map(({ price }) => price)
    expect(costTiers.map(pick)).toEqual([
      [1, 2],
      [3, 4],
      [5, 6],
      [7, 8],
      [9, 10, 11],
    ])
  })

  test('the older setting is a ceiling: 10 is the cheapest tenth, 0 all but the most expensive tenth', () => {
    const pick = (tradeoff: number) =>
      pickBand(priced, computePercentiles(priced), bandOfTradeoff(tradeoff)).map(({ price }) => price)
    expect(pick(10)).toEqual([1, 2])
    expect(pick(0)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  })

  test('every candidate is in exactly one tier; a higher price is never in a lower tier', () => {
    fc.assert(
      fc.property(candidateList, (candidates) => {
        const percentiles = computePercentiles(candidates)
        const tierOf = (id: string) =>
          costTiers.filter((tier) => isInBand(percentiles.get(id) ?? -1, bandOfTier(tier)))
        for (const a of candidates) {
          expect(tierOf(a.id)).toHaveLength(1)
          for (const b of candidates) {
            if (a.price < b.price)
              expect(costTiers.indexOf(tierOf(a.id)[0] ?? 'max')).toBeLessThanOrEqual(
                costTiers.indexOf(tierOf(b.id)[0] ?? 'low'),
              )
          }
        }
      }),
    )
  })

  test('an empty band is replaced by the nearest models', () => {
    const two = [candidate('a/cheap', { price: 1 }), candidate('a/dear', { price: 9 })]
    const pick = (tier: (typeof costTiers)[number]) =>
      pickBand(two, computePercentiles(two), bandOfTier(tier)).map(({ id }) => id)
    expect(pick('medium')).toEqual(['a/cheap'])
    expect(pick('xhigh')).toEqual(['a/dear'])
    expect(pickBand([], new Map(), bandOfTier('low'))).toEqual([])
  })
})

describe('patterns', () => {
  test('a star matches anything, and a name also its variants', () => {
    const matches = (pattern: string, id: string) => compileModelPatterns([pattern], 'allowed_models')(id)
    expect(matches('anthropic/*', 'anthropic/claude-opus-4')).toBe(true)
    expect(matches('*', 'a/b')).toBe(true)
    expect(matches('a/b', 'a/b:free')).toBe(true)
    expect(matches('a/*-mini', 'a/b-mini:free')).toBe(true)
    expect(matches('a/b:free', 'a/b')).toBe(false)
    expect(matches('a/b', 'a/bc')).toBe(false)
    expect(matches('*/ab*ab', 'x/ab')).toBe(false)
    expect(matches('a.b/*', 'axb/c')).toBe(false)
  })

  test('they match what a regular expression would', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[ab/*]{0,8}$/),
        fc.stringMatching(/^[ab]{1,4}\/[ab]{1,5}$/),
        (pattern, id) => {
          const expected = new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(id)
          expect(compileModelPatterns([pattern], 'allowed_models')(id)).toBe(expected)
        },
      ),
    )
  })

  test('all patterns together are bounded', () => {
    const patterns = Array.from({ length: 65 }, () => 'a'.repeat(1024))
    expect(() => compileModelPatterns(patterns, 'plugins.0.allowed_models')).toThrow('65536')
  })
})

describe('pareto-code', () => {
  const models = [
    candidate('a/best', { codingScore: 1, price: 30, promptPrice: 10, throughput: 20 }),
    candidate('a/good', { codingScore: 0.7, price: 9, promptPrice: 3, throughput: 10 }),
    candidate('a/fair', { codingScore: 0.4, price: 3, promptPrice: 1, throughput: 90 }),
    candidate('a/poor', { codingScore: 0.1, price: 2, promptPrice: 2 }),
    candidate('a/unknown', { price: 0.1, promptPrice: 0.1 }),
  ]
  const options = {
    minCodingScore: 1,
    maxPrice: null,
    priceSource: 'prompt' as const,
    prefersSpeed: false,
  }

  test('the cheapest of the tier, or the fastest, and only models of the tier to fall back to', () => {
    expect(selectPareto(models, options)?.models).toEqual(['a/good', 'a/best'])
    expect(selectPareto(models, { ...options, prefersSpeed: true })?.models).toEqual(['a/best', 'a/good'])
    expect(selectPareto(models, { ...options, minCodingScore: 0.5 })?.models).toEqual(['a/fair'])
    expect(selectPareto(models, { ...options, minCodingScore: 0 })?.models).toEqual(['a/poor'])
    expect([0.66, 0.65, 0.33, 0.32].map(resolveCodingTier)).toEqual(['high', 'medium', 'medium', 'low'])
  })

  test('an empty tier is replaced by a neighbor; without scores the best standing decides', () => {
    const selection = selectPareto(models.slice(2, 3), options)
    expect(selection?.models).toEqual(['a/fair'])
    expect(selection?.reason).toContain('The high tier has no model')
    expect(
      selectPareto([candidate('a/b', { price: 2 }), candidate('a/a', { price: 3, standing: 0.5 })], options)
        ?.models,
    ).toEqual(['a/a', 'a/b'])
    expect(selectPareto([], options)).toBeNull()
  })

  test('a maximum price selects the best model within it', () => {
    const pick = (maxPrice: number) => selectPareto(models, { ...options, maxPrice })?.models
    expect(pick(3)).toEqual(['a/good', 'a/fair', 'a/poor'])
    expect(pick(1)).toEqual(['a/fair', 'a/unknown'])
    expect(pick(0.01)).toBeUndefined()
  })

  test('the price may be what the account paid', () => {
    const paid = models.map((model) => (model.id === 'a/best' ? { ...model, paidPromptPrice: 2 } : model))
    const cap = { ...options, maxPrice: 3 }
    expect(selectPareto(paid, cap)?.models[0]).toBe('a/good')
    expect(selectPareto(paid, { ...cap, priceSource: 'weighted_avg' })?.models[0]).toBe('a/best')
  })

  test('no model of the frontier is beaten by a cheaper one', () => {
    fc.assert(
      fc.property(candidateList, (candidates) => {
        const frontier = findFrontier(candidates, ({ promptPrice }) => promptPrice)
        for (const { promptPrice, codingScore } of frontier) {
          const isBeaten = candidates.some(
            (other) => other.promptPrice <= promptPrice && (other.codingScore ?? -1) > (codingScore ?? -1),
          )
          expect(isBeaten).toBe(false)
        }
      }),
    )
  })
})

describe('free', () => {
  test('each model can be drawn, and failing ones only if no other is left', () => {
    const models = [candidate('a/a'), candidate('a/b'), candidate('a/c', { isStable: false })]
    expect(selectFree(models, () => 0)?.models).toEqual(['a/b', 'a/a', 'a/c'])
    expect(selectFree(models, () => 0.99)?.models).toEqual(['a/a', 'a/b', 'a/c'])
    expect(selectFree([], () => 0)).toBeNull()
  })

  test('a draw loses and repeats nothing', () => {
    fc.assert(
      fc.property(
        candidateList,
        fc.array(
          share.filter((value) => value < 1),
          { minLength: 20 },
        ),
        (models, draws) => {
          let at = 0
          const selection = selectFree(models, () => draws[at++ % draws.length] ?? 0)
          const ids = models.map(({ id }) => id)
          expect(selection?.models.length ?? 0).toBe(Math.min(3, models.length))
          for (const id of selection?.models ?? []) expect(ids).toContain(id)
          expect(new Set(selection?.models).size).toBe(selection?.models.length ?? 0)
        },
      ),
    )
  })
})
