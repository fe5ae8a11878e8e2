import { expect, test } from 'bun:test'
import { compareVersions, parseRelease } from './family.ts'

test.each([
  ['claude-sonnet-4.5', 'claude-sonnet', [4.5]],
  ['claude-3.7-sonnet', 'claude-sonnet', [3.7]],
  ['gpt-4o', 'gpt', [4]],
  ['gpt-5.4-mini', 'gpt-mini', [5.4]],
  ['gemini-3.1-pro-preview', 'gemini-pro', [3.1]],
  ['kimi-k2.6', 'kimi', [2.6]],
  ['llama-3.3-70b-instruct', 'llama-70b-instruct', [3.3]],
  ['mistral-large', 'mistral-large', []],
])('%s is a release of %s', (slug, family, version) => {
  expect(parseRelease(slug)).toEqual({ family, version })
})

test.each(['gpt-5-2025-08-07', 'gpt-chat-latest', 'o3', '4.5'])('%s is not a release of a family', (slug) => {
  expect(parseRelease(slug)).toBeUndefined()
})

test('versions compare as decimals, and any version is newer than none', () => {
  expect(compareVersions([4.3], [4.2])).toBeGreaterThan(0)
  expect(compareVersions([4.6], [4.2])).toBeGreaterThan(0)
  expect(compareVersions([5], [4.9])).toBeGreaterThan(0)
  expect(compareVersions([2512], [])).toBeGreaterThan(0)
  expect(compareVersions([3], [3])).toBe(0)
})
