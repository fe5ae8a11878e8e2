import { expect, test } from 'bun:test'
import { suggestSlug } from './slug.ts'
import { startOfWindow } from './window.ts'

test.each([
  ['Research & Development', 'research-development'],
  ['  Zürich!', 'zurich'],
  ['日本', ''],
  [`a${' b'.repeat(60)}`, `a${'-b'.repeat(24)}`],
])('the short name of %j is %j', (name, slug) => {
  expect(suggestSlug(name)).toBe(slug)
})

test.each([
  ['daily', '2026-11-15T00:00:00.000Z'],
  ['weekly', '2026-11-09T00:00:00.000Z'],
  ['monthly', '2026-11-01T00:00:00.000Z'],
  ['lifetime', '2020-02-02T00:00:00.000Z'],
] as const)('a %s window starts in UTC at %s', (interval, start) => {
  const now = new Date('2026-11-15T23:30:00.000Z')
  expect(startOfWindow(interval, now, '2020-02-02T00:00:00.000Z')).toBe(start)
})
