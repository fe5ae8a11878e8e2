import { describe, expect, test } from 'bun:test'
import { planRoute } from '../../src/inference/plan/plan.ts'
import {
  buildFakeByokKey,
  buildFakeCatalog,
  buildFakeGateway,
  buildFakeRequest,
  type FakeEndpoint,
} from '../support/fake-routing.ts'
import { seededRandom } from '../support/random.ts'
import { isLikely } from './simulation.ts'

const clock = { now: () => 1_800_000_000_000 }
const draws = 2500

/** Prices over five decades, with two digits as price lists have them. */
function somePrice(random: () => number): number {
  return Number((10 ** (random() * 5 - 2)).toPrecision(2))
}

type Kind = 'priced' | 'with-free' | 'with-unknown' | 'unknown'
const kinds: Kind[] = ['priced', 'with-free', 'with-unknown', 'unknown']

function someEndpoints(kind: Kind, random: () => number): FakeEndpoint[] {
  return Array.from({ length: 2 + Math.floor(random() * 19) }, (_, index) => {
    const odd = { priced: somePrice(random), 'with-free': 0, 'with-unknown': null, unknown: null }[kind]
    const isOdd = kind === 'unknown' || index % 3 === 0
    return { provider: `p${index}`, price: isOdd ? odd : somePrice(random) }
  })
}

/** The rule: weights of 1/price²; free before priced; unknown prices only where all are unknown. */
function expectedShares(endpoints: readonly FakeEndpoint[]): number[] {
  const priced = endpoints.flatMap(({ price }) => (price === null ? [] : [price]))
  const isAny = (price: number | null) => priced.length === 0 || (price === 0 && priced.includes(0))
  const isEven = priced.length === 0 || priced.includes(0)
  const weights = endpoints.map(({ price }) => {
    if (isEven) return isAny(price) ? 1 : 0
    return price === null ? 0 : 1 / price ** 2
  })
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return weights.map((weight) => weight / sum)
}

const random = seededRandom(11)
const models = Array.from({ length: 60 }, (_, index) => ({
  id: `made/model-${index}`,
  endpoints: someEndpoints(kinds[index % kinds.length] ?? 'priced', random),
}))
const catalog = buildFakeCatalog(models)

describe('balancing by price', () => {
  test('each of hundreds of endpoints is drawn in proportion to 1/price²', () => {
    const gateway = buildFakeGateway(catalog, clock, seededRandom(12))
    const wrong: unknown[] = []
    let checked = 0
    for (const { id, endpoints } of models) {
      const request = buildFakeRequest({ model: id })
      const first = new Map<string, number>()
      for (let draw = 0; draw < draws; draw++) {
        const provider = planRoute(gateway, request).plan.candidates[0]?.endpoint.provider.slug ?? ''
        first.set(provider, (first.get(provider) ?? 0) + 1)
      }
      for (const [index, share] of expectedShares(endpoints).entries()) {
        const count = first.get(endpoints[index]?.provider ?? '') ?? 0
        checked += 1
        if (!isLikely(count, draws, share)) wrong.push({ id, price: endpoints[index]?.price, share, count })
      }
    }
    expect(wrong).toEqual([])
    expect(checked).toBeGreaterThan(500)
  })

  test('after the drawn endpoint the others follow by price, unknown prices last', () => {
    const gateway = buildFakeGateway(catalog, clock, seededRandom(13))
    for (const { id } of models) {
      const [, ...rest] = planRoute(gateway, buildFakeRequest({ model: id })).plan.candidates
      const prices = rest.map(({ endpoint }) => endpoint.price)
      expect(prices).toEqual(prices.toSorted((a, b) => (a === b ? 0 : a - b)))
    }
  })

  test('the worked example: $1, $2 that fails, $3: the first nine times as often as the third, the second last', () => {
    const endpoints = [1, 2, 3].map((price) => ({ provider: `p${price}`, price }))
    const example = buildFakeCatalog([{ id: 'made/example', endpoints }])
    const gateway = buildFakeGateway(example, clock, seededRandom(14))
    gateway.routing.health.getOrCreate('made/example p2').recordFailure(clock.now(), { kind: 'server' })
    const orders = new Map<string, number>()
    for (let draw = 0; draw < draws; draw++) {
      const {
        plan: { candidates },
      } = planRoute(gateway, buildFakeRequest({ model: 'made/example' }))
      const order = candidates.map(({ endpoint }) => endpoint.tag).join(' ')
      orders.set(order, (orders.get(order) ?? 0) + 1)
    }
    expect([...orders.keys()].sort()).toEqual(['p1 p3 p2', 'p3 p1 p2'])
    expect(isLikely(orders.get('p1 p3 p2') ?? 0, draws, 0.9)).toBe(true)
  })

  test('the same seed gives the same decisions, byte for byte, and another seed others', () => {
    const decisions = (seed: number) => {
      const gateway = buildFakeGateway(catalog, clock, seededRandom(seed))
      const lines = Array.from({ length: 3000 }, (_, index) => {
        const {
          plan: { candidates },
        } = planRoute(gateway, buildFakeRequest({ model: models[index % models.length]?.id }))
        return candidates.map(({ id, why }) => `${id} ${why}`).join(', ')
      })
      return lines.join('\n')
    }
    expect(decisions(1)).toBe(decisions(1))
    expect(decisions(1)).not.toBe(decisions(2))
  })

  test('BYOK keys are not drawn: their order is fixed', () => {
    const keys = [
      buildFakeByokKey('second', 'p1'),
      buildFakeByokKey('first', 'p0'),
      buildFakeByokKey('last', 'p0', { isFallback: true }),
    ]
    const three = [5, 1, 3].map((price, index) => ({ provider: `p${index}`, price }))
    const gateway = buildFakeGateway(
      buildFakeCatalog([{ id: 'made/own', endpoints: three }]),
      clock,
      seededRandom(15),
    )
    for (let draw = 0; draw < 100; draw++) {
      const {
        plan: { candidates },
      } = planRoute(gateway, buildFakeRequest({ model: 'made/own' }, { byokKeys: keys }))
      const keyIds = candidates.map(({ byokKey }) => byokKey?.id ?? 'shared')
      expect(keyIds).toEqual(['second', 'first', 'shared', 'shared', 'shared', 'last'])
    }
  })
})
