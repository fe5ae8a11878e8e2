import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { buildSnapshot } from './build.ts'
import { findReleaseDate } from './dates.ts'
import { formatSnapshot } from './format-snapshot.ts'

const committed = readFileSync(new URL('../../src/catalogue/snapshot.json', import.meta.url), 'utf8')

test('src/catalogue/snapshot.json is what `npm run catalogue` writes for its date and package version', () => {
  const { version, date } = JSON.parse(committed) as { version: string; date: string }
  expect(formatSnapshot(buildSnapshot(version, date)) === committed).toBe(true)
})

test('the snapshot has one model per line', () => {
  const { models } = JSON.parse(committed) as { models: unknown[] }
  expect(committed.trimEnd().split('\n')).toHaveLength(models.length + 2)
})

test.each([
  ['openai/gpt-4o-2024-08-06', ['gpt-4o-2024-08-06'], [], '2024-08-06'],
  ['openai/gpt-5', ['gpt-5'], ['gpt-5-mini-2025-01-01', 'gpt-5-2025-08-07'], '2025-08-07'],
  [
    'anthropic/claude-opus-4',
    ['claude-opus-4-0'],
    ['global.anthropic.claude-opus-4-20250514-v1:0'],
    '2025-05-14',
  ],
  ['mistralai/mistral-large-2512', ['mistral-large-2512'], [], '2025-12-01'],
  ['cohere/command-r-08-2024', ['command-r-08-2024'], [], '2024-08-01'],
])('the release of %s is read from a name', (id, upstreams, names, day) => {
  expect(findReleaseDate(id, upstreams, names)).toBe(Date.parse(day) / 1000)
})

test('a release date that is in no name is unknown', () => {
  expect(findReleaseDate('deepseek/deepseek-r1-0528', ['deepseek-r1-0528'], [])).toBeUndefined()
})
