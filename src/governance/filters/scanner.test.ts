import { afterEach, expect, test } from 'bun:test'
import { detectorSlugs } from './detectors.ts'
import { ContentScanner, type RuleSet } from './scanner.ts'

const traits = { action: 'redact' as const, isEnforced: true, layers: ['key'] }
const place = { part: 'text', role: 'user', message: 0 } as const
const builtins = detectorSlugs.map((slug) => ({ slug, ...traits }))

function rulesOf(...patterns: string[]): RuleSet {
  return {
    key: patterns.join(' '),
    rules: { builtins, customs: patterns.map((pattern) => ({ pattern, label: null, ...traits })) },
  }
}

let scanner = new ContentScanner()
afterEach(() => {
  scanner.stop()
  scanner = new ContentScanner()
})

const repeat = (text: string, count: number) => Array.from({ length: count }, () => ({ text, place }))

test('a short text is scanned at once', () => {
  expect(scanner.scan(rulesOf('project-[0-9]+'), repeat('Write to ada@example.com', 1))).toBeArray()
})

// Each would hold the event loop for a tenth of a second or more.
test.each([
  ['many empty texts', rulesOf(), repeat('', 10_000)],
  ['many texts of a character', rulesOf(), repeat('a', 5_000)],
  ['a pattern with many states', rulesOf('.{0,900}x'), repeat(`${'a'.repeat(3_000)}x`, 1)],
  [
    'allowed phrases that begin alike',
    {
      key: 'phrases',
      rules: {
        builtins,
        customs: [],
        allowedPhrases: Array.from({ length: 200 }, (_, index) => 'a'.repeat(900) + index),
      },
    },
    repeat('a'.repeat(4_000), 1),
  ],
])('S13 the event loop does not wait for %s', async (_, rules, texts) => {
  const scanning = scanner.scan(rules, texts)
  expect(scanning).toBeInstanceOf(Promise)
  expect(await scanning).toHaveLength(texts.length)
})

test('S13 short texts under a small policy do not wait for an expensive pattern', async () => {
  // On a busy machine, the default time limit may end the expensive one.
  scanner = new ContentScanner({ milliseconds: 60_000, perCharacter: 0 })
  const order: string[] = []
  const scan = async (name: string, rules: RuleSet, text: string) => {
    await scanner.scan(rules, repeat(text, 1))
    order.push(name)
  }
  await Promise.all([
    scan('expensive', rulesOf('.{0,900}x'), `${'a'.repeat(10_000)}x`),
    scan('small', rulesOf(), 'a '.repeat(5_000)),
  ])
  expect(order).toEqual(['small', 'expensive'])
})

test('S13 a scan that takes too long is refused, and those behind it are not', async () => {
  scanner = new ContentScanner({ milliseconds: 100, perCharacter: 0.02 })
  const slow = scanner.scan(rulesOf('.{0,900}x'), repeat(`${'a'.repeat(60_000)}x`, 1))
  const next = scanner.scan(rulesOf(), repeat('a '.repeat(150_000), 1))
  await expect(Promise.resolve(slow)).rejects.toMatchObject({ row: { status: 503 } })
  expect(await next).toHaveLength(1)
}, 30_000)
