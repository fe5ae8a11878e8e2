import { expect, test } from 'bun:test'
import { measureCpuTime } from '../../../test/support/cpu-time.ts'
import { applyLimits } from './applied-limits.ts'
import { type LimitedKey, LimitIndex } from './limit-index.ts'
import type { LimitMatch, LimitRule } from './limit-rule.ts'
import { estimateWait, locateInWindow } from './window.ts'

const key: LimitedKey = { id: 1, workspace_id: 'w', creator_user_id: 'm', tier: 'free' }

function rule(id: string, match: Partial<LimitMatch> = {}, per: LimitRule['per'] = []): LimitRule {
  return {
    id,
    name: id,
    measure: 'requests',
    window: 'minute',
    amount: 10n,
    includeByok: false,
    match: {
      workspaceId: null,
      userId: null,
      keyId: null,
      tier: null,
      endUser: null,
      tags: [],
      models: [],
      providers: [],
      ...match,
    },
    per,
  }
}

function apply(
  rules: readonly LimitRule[],
  facts = { endUser: null as string | null, tags: [] as string[] },
) {
  const limits = new LimitIndex(rules).forKey(key)
  return limits ? applyLimits(limits, key, facts, []).map(({ rule: { id }, counter }) => [id, counter]) : []
}

test('a limit counts requests that match all it names', () => {
  const rules = [
    rule('all'),
    rule('workspace', { workspaceId: 'w' }),
    rule('other workspace', { workspaceId: 'x' }),
    rule('key elsewhere', { keyId: 1, workspaceId: 'x' }),
    rule('tier', { tier: 'free' }),
    rule('member', { userId: 'm' }),
    rule('alice', { endUser: 'alice' }),
    rule('alice on apollo', { endUser: 'alice', tags: ['project=apollo'] }),
    rule('two tags', { tags: ['project=apollo', 'team=x'] }),
  ]
  const ids = (...args: Parameters<typeof apply>) => apply(...args).map(([id]) => id)
  expect(ids(rules)).toEqual(['all', 'tier', 'workspace', 'member'])
  expect(ids(rules, { endUser: 'alice', tags: ['project=apollo'] }).slice(4)).toEqual([
    'alice',
    'alice on apollo',
  ])
  expect(ids(rules, { endUser: null, tags: ['project=apollo', 'team=x'] }).slice(4)).toEqual(['two tags'])
})

test('what is counted separately is in the name of the count, whatever its characters', () => {
  const facts = { endUser: 'a=b&c d', tags: ['project=x=y'] }
  expect(apply([rule('one', {}, ['end_user', 'tag:project', 'key'])], facts)).toEqual([
    ['one', 'end_user=a%3Db%26c%20d&tag%3Aproject=x%3Dy&key=1'],
  ])
  expect(apply([rule('one', {}, ['end_user'])])).toEqual([['one', 'end_user=']])
})

test('with ten thousand limits a request looks up as many as with ten', () => {
  const build = (count: number) =>
    new LimitIndex(
      Array.from({ length: count }, (_, n) =>
        rule(
          `${n}`,
          n % 3 === 0 ? { keyId: n + 2 } : n % 3 === 1 ? { tags: [`project=${n}`] } : { endUser: `u${n}` },
        ),
      ),
    ).forKey(key)
  const facts = { endUser: 'u2', tags: ['project=1', 'team=x'] }
  const [few, many] = [build(10), build(10_000)]
  if (!few || !many) throw new Error('there are limits')
  const run = (limits: typeof few) => () => {
    for (let times = 0; times < 20_000; times++) applyLimits(limits, key, facts, [])
  }
  for (const limits of [few, many]) expect(applyLimits(limits, key, facts, [])).toHaveLength(2)
  run(few)()
  expect(measureCpuTime(run(many))).toBeLessThan(4 * measureCpuTime(run(few)) + 20)
})

test('windows of the calendar begin at midnight UTC, on Monday and on the first of the month', () => {
  const now = Date.parse('2028-02-29T23:59:59.999Z')
  const bounds = (window: 'day' | 'week' | 'month', at: number) => {
    const { start, end } = locateInWindow(window, at)
    return [start, end ?? 0].map((time) => new Date(time).toISOString().slice(0, 10))
  }
  expect(bounds('day', now)).toEqual(['2028-02-29', '2028-03-01'])
  expect(bounds('week', now)).toEqual(['2028-02-28', '2028-03-06'])
  expect(bounds('month', now)).toEqual(['2028-02-01', '2028-03-01'])
  expect(bounds('month', now + 1)).toEqual(['2028-03-01', '2028-04-01'])
  const monday = Date.parse('2028-03-06T00:00:00.000Z')
  expect(bounds('week', monday - 1)).toEqual(['2028-02-28', '2028-03-06'])
  expect(bounds('week', monday)).toEqual(['2028-03-06', '2028-03-13'])
  for (const window of ['day', 'week', 'month'] as const) {
    const { now: counted, windowMs, start } = locateInWindow(window, now)
    // The cluster finds the same beginning.
    expect(now - (counted % windowMs)).toBe(start)
  }
})

test('the wait until an amount fits ends in the next window, and never for more than the limit', () => {
  const minute = locateInWindow('minute', Date.parse('2028-03-15T12:00:30.000Z'))
  const now = Date.parse('2028-03-15T12:00:30.000Z')
  expect(estimateWait(minute, { limit: 60, used: 60, amount: 1, now })).toBe(31_000)
  expect(estimateWait(minute, { limit: 60, used: 60, amount: 61, now })).toBeNull()
  const day = locateInWindow('day', now)
  expect(estimateWait(day, { limit: 1, used: 1, amount: 1, now })).toBe(43_170_000)
  expect(estimateWait(locateInWindow('lifetime', now), { limit: 1, used: 1, amount: 1, now })).toBeNull()
})
