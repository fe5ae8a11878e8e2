import { describe, expect, test } from 'bun:test'
import { findDomainBlock, formatDomainRule, parseDomainRule } from './domains.ts'

function parse(text: string) {
  const rule = parseDomainRule(text)
  if (rule === null) throw new Error(`no rule: ${text}`)
  return rule
}

describe('domain rules', () => {
  test.each([
    ['example.com', 'example.com'],
    ['EXAMPLE.com.', 'example.com'],
    ['*.example.com', '*.example.com'],
    ['example.com/blog/', 'example.com/blog'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['gov', 'gov'],
    [`example.com${'/'.repeat(100_000)}x/`, `example.com${'/'.repeat(100_000)}x`],
  ])('%s is read as %s', (text, rule) => {
    expect(formatDomainRule(parse(text))).toBe(rule)
  })

  test.each([
    '',
    ' ',
    'https://example.com',
    'a b.com',
    '*',
    '*.*.com',
    'a*.com',
    'user@example.com',
    'example.com:80',
    '[::1]',
    'example.com?x',
    '/path',
  ])('"%s" is none', (text) => {
    expect(parseDomainRule(text)).toBeNull()
  })

  test.each([
    ['example.com', 'https://example.com/x', true],
    ['example.com', 'https://www.example.com/', true],
    ['example.com', 'https://notexample.com/', false],
    ['example.com', 'https://example.com.evil.test/', false],
    ['*.example.com', 'https://a.b.example.com/', true],
    ['*.example.com', 'https://example.com/', false],
    ['example.com/blog', 'https://example.com/blog', true],
    ['example.com/blog', 'https://example.com/blog/1', true],
    ['example.com/blog', 'https://example.com/blogs', false],
    ['example.com', 'https://example.com./', true],
  ])('%s and %s: %p', (rule, url, matches) => {
    expect(findDomainBlock(new URL(url), [parse(rule)], [])).toBe(matches ? null : 'allowed')
    expect(findDomainBlock(new URL(url), [], [parse(rule)])).toBe(matches ? 'blocked' : null)
  })
})
