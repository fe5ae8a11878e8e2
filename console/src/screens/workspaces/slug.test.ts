import { expect, test } from 'bun:test'
import { suggestSlug } from './slug.ts'

test.each([
  ['Research & Development', 'research-development'],
  ['  Zürich!', 'zurich'],
  ['日本', ''],
  [`a${' b'.repeat(60)}`, `a${'-b'.repeat(24)}`],
])('the short name of %j is %j', (name, slug) => {
  expect(suggestSlug(name)).toBe(slug)
})
