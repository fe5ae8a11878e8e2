import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { rankTargets, type Split, type SplitTarget } from './split.ts'

const ids = Array.from({ length: 10_000 }, (_, at) => `id-${at}`)

const toTargets = (weights: readonly number[]): SplitTarget[] =>
  weights.map((weight, at) => ({ model: `acme/m${at}`, weight, tag: `arm=${at}` }))

const split = (weights: readonly number[], rest: Partial<Split> = {}): Split => ({
  by: 'session',
  fallback: true,
  targets: toTargets(weights),
  ...rest,
})

const rank = (of: Split, session: string, alias = 'support') =>
  rankTargets(alias, of, { session, user: null, request: 'r' })

const countArms = (of: Split, sessions: readonly string[] = ids) => {
  const counts = of.targets.map(() => 0)
  for (const session of sessions) counts[Number(rank(of, session).choice.tag.slice('arm='.length))]! += 1
  return counts
}

/** Five standard deviations of a binomial distribution: a fair choice is beyond it once in two million. */
function expectShares(counts: readonly number[], weights: readonly number[]): void {
  const total = counts.reduce((sum, count) => sum + count, 0)
  const weight = weights.reduce((sum, one) => sum + one, 0)
  for (const [at, count] of counts.entries()) {
    const share = weights[at]! / weight
    expect(Math.abs(count - total * share)).toBeLessThanOrEqual(5 * Math.sqrt(total * share * (1 - share)))
  }
}

describe('the targets of an alias', () => {
  test.each([[[50, 50]], [[95, 5]], [[1, 1, 1]], [[9999, 1]], [[10, 0, 30, 60]]])(
    'receive their shares of 10,000 sessions: %p',
    (weights) => expectShares(countArms(split(weights)), weights),
  )

  test('a change of one weight moves sessions only to or from that target', () => {
    const weight = fc.integer({ min: 0, max: 10_000 })
    const weights = fc
      .array(weight, { minLength: 2, maxLength: 20 })
      .filter((all) => all.some((one) => one > 0))
    const session = fc.string({ minLength: 1 })
    fc.assert(
      fc.property(weights, fc.nat(), weight, session, (before, index, value, id) => {
        const changed = index % before.length
        const after = before.with(changed, value)
        fc.pre(after.some((one) => one > 0))
        const was = rank(split(before), id).choice.tag
        const is = rank(split(after), id).choice.tag
        if (was === is) return
        expect(value > before[changed]! ? is : was).toBe(`arm=${changed}`)
      }),
      { numRuns: 2000 },
    )
  })

  test('a canary that grows keeps its sessions, and takes no more than it must', () => {
    const [before, after] = [split([95, 5]), split([80, 20])]
    const moved = ids.filter((id) => rank(before, id).choice.tag !== rank(after, id).choice.tag)
    for (const id of moved) expect(rank(after, id).choice.tag).toBe('arm=1')
    expect(moved.length).toBe(countArms(after)[1]! - countArms(before)[1]!)
    expectShares([ids.length - moved.length, moved.length], [85, 15])
  })

  test('a new target, another order and another model move nothing else', () => {
    const before = split([30, 70])
    const [first, second] = before.targets as [SplitTarget, SplitTarget]
    const added = split([], { targets: [...toTargets([30, 70, 20])].reverse() })
    const replaced = split([], { targets: [{ ...first, model: 'acme/new' }, second] })
    for (const id of ids) {
      const { tag } = rank(before, id).choice
      expect(['arm=2', tag]).toContain(rank(added, id).choice.tag)
      expect(rank(replaced, id).choice.tag).toBe(tag)
    }
  })

  test('aliases are divided independently of each other', () => {
    const half = split([1, 1])
    const firstArm = ids.filter((id) => rank(half, id, 'one').choice.tag === 'arm=0')
    const both = firstArm.filter((id) => rank(half, id, 'two').choice.tag === 'arm=0')
    expectShares([both.length, firstArm.length - both.length], [1, 1])
  })

  test('the sessions of a target that fails are divided among the others by their weights', () => {
    const weights = [50, 30, 20, 0, 0]
    const second = [0, 0, 0, 0, 0]
    for (const id of ids) {
      const { models } = rank(split(weights), id)
      expect(models.slice(-2)).toEqual(['acme/m3', 'acme/m4'])
      if (models[0] === 'acme/m0') second[Number(models[1]!.slice('acme/m'.length))]! += 1
    }
    expectShares(second.slice(1, 3), [30, 20])
  })

  test('without fallbacks, only the chosen one is tried', () => {
    const { models, choice } = rank(split([1, 1, 0], { fallback: false }), 'a')
    expect(models).toEqual([choice.model])
  })

  test.each([
    ['session', { session: 's', user: 'u' }, 'session'],
    ['session', { session: null, user: 'u' }, 'user'],
    ['session', { session: null, user: null }, 'request'],
    ['user', { session: 's', user: 'u' }, 'user'],
    ['user', { session: 's', user: null }, 'request'],
    ['request', { session: 's', user: 'u' }, 'request'],
  ] as const)('by %s, requests with %p are assigned by their %s', (by, named, unit) => {
    const chosen = rankTargets('support', split([1, 1], { by }), { ...named, request: 'r' })
    expect(chosen.choice.split_by).toBe(unit)
  })

  test('are the same in every version', () => {
    const arms = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((id) =>
      rank(split([1, 1, 2]), id).choice.tag.slice(-1),
    )
    expect(arms.join('')).toBe('22122100')
  })
})
