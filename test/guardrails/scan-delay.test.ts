import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { ModelCall } from '../../src/formats/call/call.ts'
import { collectTexts, replaceTexts } from '../../src/formats/call/texts.ts'
import { detectorSlugs } from '../../src/governance/filters/detectors.ts'
import { ContentScanner, type RuleSet } from '../../src/governance/filters/scanner.ts'
import { measureLoopDelay } from '../support/loop-delay.ts'

const traits = { action: 'redact' as const, isEnforced: true, layers: ['key'] }

/** All detectors, and as many patterns as an organization might have. */
const rules: RuleSet = {
  key: 'all',
  rules: {
    builtins: detectorSlugs.map((slug) => ({ slug, ...traits })),
    customs: Array.from({ length: 50 }, (_, index) => ({
      pattern: `project-${index}-[a-z0-9]+(?:-[a-z]+){0,3}`,
      label: '[PROJECT]',
      ...traits,
    })),
  },
}

const prose = 'The quick brown fox jumps over the lazy dog, and then "sleeps" under a tree.\n'.repeat(20)
const paragraph = `${prose}Write to anna@example.com about project-7-falcon.\n`

const buildText = (characters: number) => paragraph.repeat(Math.ceil(characters / paragraph.length))

function buildCall(characters: number): ModelCall {
  const text = buildText(characters)
  return { messages: [{ role: 'user', parts: [{ kind: 'text', text }] }], stream: false, unknown: [] }
}

function buildToolCall(characters: number): ModelCall {
  const text = JSON.stringify({ file: 'a.txt', content: buildText(characters) })
  const part = { kind: 'tool-call' as const, id: 'c1', name: 'write', arguments: text }
  return { messages: [{ role: 'assistant', parts: [part] }], stream: false, unknown: [] }
}

let scanner: ContentScanner
beforeAll(async () => {
  scanner = new ContentScanner()
  for (const characters of [10_000, 1_000_000]) await scanner.scan(rules, collectTexts(buildCall(characters)))
})
afterAll(() => scanner.stop())

const boundMs = 40

test.each([
  ['a prompt of 100,000 characters', buildCall(100_000)],
  ['a prompt of 1,000,000 characters', buildCall(1_000_000)],
  ['a prompt of 4,000,000 characters', buildCall(4_000_000)],
  ['a tool call of 1,000,000 characters', buildToolCall(1_000_000)],
])(
  'S13 %s holds the event loop for milliseconds',
  async (_, call) => {
    let redacted: unknown
    const delay = await measureLoopDelay(boundMs, async () => {
      const results = await scanner.redact(rules, collectTexts(call))
      redacted = replaceTexts(
        call,
        results.map(({ text }) => text),
      )
    })
    expect(delay).toBeLessThan(boundMs)
    expect(JSON.stringify(redacted)).not.toMatch(/anna@|falcon/)
  },
  60_000,
)

test('S13 the matches of a long prompt take no memory on the thread of requests', async () => {
  const text = 'a@b.co '.repeat(600_000)
  const place = { part: 'text', role: 'user', message: null } as const
  const emails: RuleSet = {
    key: 'emails',
    rules: { builtins: [{ slug: 'email', ...traits }], customs: [] },
  }
  let results: Awaited<ReturnType<ContentScanner['redact']>> = []
  const delay = await measureLoopDelay(boundMs, async () => {
    results = await scanner.redact(emails, [{ text, place }])
  })
  expect(delay).toBeLessThan(boundMs)
  const [result] = results
  expect(result?.text).toBe('[EMAIL] '.repeat(600_000))
  expect(result?.hits).toMatchObject([{ rule: 'email', count: 600_000, starts: [] }])
}, 60_000)

test('S13 a short prompt does not wait for a long one', async () => {
  const order: string[] = []
  const scan = async (name: string, characters: number) => {
    await scanner.scan(rules, collectTexts(buildCall(characters)))
    order.push(name)
  }
  await Promise.all([scan('long', 4_000_000), scan('longer', 4_000_000), scan('short', 20_000)])
  expect(order[0]).toBe('short')
}, 60_000)
