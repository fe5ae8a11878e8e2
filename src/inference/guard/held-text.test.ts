import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { applyTextEdits } from '../../formats/call/json-text.ts'
import { fakeSecret } from '../../governance/filters/corpus/fake-secrets.ts'
import type { DetectorSlug } from '../../governance/filters/detectors.ts'
import { type FilterHit, FilterSet } from '../../governance/filters/filter-set.ts'
import { computeStreamReach } from '../../governance/filters/reach.ts'
import { redactText } from '../../governance/filters/redact-text.ts'
import { scanText } from '../../governance/filters/scan-text.ts'
import { HeldText, type TextFilter } from './held-text.ts'

const place = { part: 'text', role: 'assistant', message: null } as const
const traits = { action: 'redact', isEnforced: true, layers: ['key'] } as const

function createFilter(slugs: readonly DetectorSlug[], patterns: readonly string[] = []) {
  const rules = {
    builtins: slugs.map((slug) => ({ ...traits, slug })),
    customs: patterns.map((pattern) => ({ ...traits, pattern, label: '[CUSTOM]' })),
  }
  const set = new FilterSet(rules)
  const hits: FilterHit[] = []
  let scanned = 0
  const filter: TextFilter = {
    reach: computeStreamReach(rules),
    scan: async (text, from) => {
      scanned += text.length
      return scanText(set, { text, place, ...(from !== undefined && { from }) })
    },
    redact: async (text) => redactText(set, text, place),
    report: (found) => void hits.push(...found),
  }
  return {
    filter,
    redact: (text: string) => applyTextEdits(text, set.scan(text, place).redactions),
    count: () => hits.reduce((sum, { count }) => sum + count, 0),
    countWhole: (text: string) => set.scan(text, place).hits.reduce((sum, { count }) => sum + count, 0),
    scanned: () => scanned,
  }
}

/** The text that is released after each chunk. */
async function release(filter: TextFilter, chunks: readonly string[]): Promise<string[]> {
  const held = new HeldText(filter, false)
  const released: string[] = []
  for (const chunk of chunks) released.push(await held.add(chunk))
  return [...released, await held.end()]
}

interface SplitTexts {
  words: fc.Arbitrary<string>
  /** Words of a text. */
  maxLength: number
  numRuns: number
}

/** Texts of these words, in chunks that end anywhere, are released as the whole text is redacted. */
async function expectSameHoweverSplit(
  filter: TextFilter,
  redact: (text: string) => string,
  { words, maxLength, numRuns }: SplitTexts,
): Promise<void> {
  const property = fc.asyncProperty(
    fc.array(words, { minLength: 1, maxLength }),
    fc.array(fc.nat(5000), { maxLength: 30 }),
    async (list, cuts) => {
      const text = `The ${list.join(' ')}`
      const edges = [...cuts.map((cut) => cut % text.length), text.length].sort((a, b) => a - b)
      const chunks = edges.map((edge, index) => text.slice(edges[index - 1] ?? 0, edge))
      expect((await release(filter, chunks)).join('')).toBe(redact(text))
    },
  )
  await fc.assert(property, { numRuns })
}

const prose = 'The reply goes on and on with words that mean nothing to anybody, and then on again. '.repeat(
  14,
)

const matches: [DetectorSlug, string][] = [
  ['email', 'jane.doe@example.org'],
  ['email', 'jane [at] example [dot] org'],
  ['phone', '+49 30 1234567'],
  ['ssn', '123-45-6789'],
  ['credit-card', '4111 1111 1111 1111'],
  ['ip-address', '192.0.2.17'],
  ['person-name', 'Mrs. Margaret Fontaine'],
  ['address', '221 Maple Street, Springfield, IL 62704'],
  ['secrets', fakeSecret('github-token')],
  ['secrets', fakeSecret('json-web-token')],
]

/** Detectors that release words as they arrive. */
const numbers = ['phone', 'ssn', 'credit-card', 'ip-address'] as const
const sets: { slugs: readonly DetectorSlug[] }[] = [
  { slugs: ['email'] },
  { slugs: numbers },
  { slugs: ['secrets'] },
  { slugs: ['email', ...numbers, 'secrets'] },
]

describe('R35 a text that is held back', () => {
  test.each(matches)('leaves no part of a match of %s, wherever it is split: %s', async (slug, match) => {
    const { filter, redact } = createFilter([slug])
    const text = `${prose}Here it is: ${match} and more. ${prose}`
    const expected = redact(text)
    expect(expected).not.toContain(match)
    const start = text.indexOf(match)
    for (let cut = 0; cut <= Math.min(match.length, 60); cut++) {
      const released = await release(filter, [text.slice(0, start + cut), text.slice(start + cut)])
      expect(released.join('')).toBe(expected)
    }
    expect((await release(filter, [...text])).join('')).toBe(expected)
  })

  test('of detectors that release words as they arrive is redacted as the whole text would be', async () => {
    const words = fc.constantFrom(
      ...matches.map(([, match]) => match),
      ...['Hello', 'to', 'the 12', '4111', '1111', '5678', '+', '(030)', 'dot', 'at', 'example', 'org', '(a'],
      ...[
        '[at]',
        '[dot]',
        '@',
        'office',
        'fax',
        'x12',
        'DE89 3704 0044 0532 0130 00',
        'fe80::1',
        'dead:beef:',
      ],
      ...['ssn', '123456789', 'phone:', '\u200b', '😀', '\n', '.', 'password:', 'hunter2!', '-----BEGIN'],
      ...[
        'AKIAFAKEKEYFORTESTSO',
        'wJalrXUtnFEMIK7MDENGbPxRfiCYq8Zr2Lw4Tz6V',
        'RSA PRIVATE KEY-----',
        '-----',
      ],
      ...['transaction', `0x${'4f'.repeat(8)}${'9ac1'.repeat(12)}`, 'https://bob:pw12345@host', 'Bearer'],
    )
    for (const { slugs } of sets) {
      const { filter, redact } = createFilter(slugs)
      await expectSameHoweverSplit(filter, redact, { words, maxLength: 120, numRuns: 150 })
    }
  })

  test('is redacted as the whole text would be, however it is split', async () => {
    const words = fc.constantFrom(
      ...matches.map(([, match]) => match),
      ...['Hello', 'to', 'Jane', 'the 12', '4111', '1111', '\u200b', '😀', '\n', '.', 'KEY-12', 'KEY-123456'],
    )
    const { filter, redact } = createFilter(
      ['email', 'credit-card', 'ip-address', 'secrets'],
      ['KEY-[0-9]{2,6}\\b', '^The'],
    )
    await expectSameHoweverSplit(filter, redact, { words, maxLength: 400, numRuns: 60 })
  })

  test('has no secret that the name before it announces, also if another match is part of the name', async () => {
    const { filter, redact } = createFilter(['email', 'person-name', 'secrets'])
    const key = 'q7Xw2Lr9Tz4Vb8Nc6Mk3'
    const words = fc.constantFrom(
      ...[
        `api_key="${key}"`,
        'password for Mrs. Margaret Fontaine:',
        'token',
        '=',
        ':',
        '"',
        key,
        'Hunter2!x9',
      ],
      ...[
        'jane.doe@example.org',
        'Authorization: Bearer',
        `postgres://app:${key}@db`,
        'secret is',
        'Hello there',
      ],
      ...['AKIAFAKEKEYFORTESTSO', 'wJalrXUtnFEMIK7MDENGbPxRfiCYq8Zr2Lw4Tz6V', '\n'],
    )
    await expectSameHoweverSplit(filter, redact, { words, maxLength: 150, numRuns: 150 })
  })

  test('holds a private key back from its first line to its last', async () => {
    const { filter, redact } = createFilter(['secrets'])
    const lines = Array.from(
      { length: 100 },
      (_, index) => `MIIEvQIBADANBgkqhkiG9w0BAQEFAASC${index}\n`,
    ).join('')
    const key = `-----BEGIN RSA PRIVATE KEY-----\n${lines}-----END RSA PRIVATE KEY-----`
    const text = `${prose}${key}\n${prose}`
    const released = await release(filter, text.match(/[\s\S]{1,7}/g) ?? [])
    expect(released.join('')).toBe(redact(text))
    expect(released.join('')).not.toContain('MIIE')
  })

  test.each(sets)('of ordinary words arrives with its events: %j', async ({ slugs }) => {
    const { filter, scanned } = createFilter(slugs)
    const held: number[] = []
    const text = new HeldText(filter, false)
    let waiting = 0
    for (const event of prose.repeat(3).match(/\s?\S{1,6}/g) ?? []) {
      const released = await text.add(event)
      waiting += event.length - released.length
      held.push(waiting)
    }
    held.sort((a, b) => a - b)
    expect(held.at(Math.floor(held.length / 2))).toBeLessThanOrEqual(8)
    expect(held.at(Math.floor(held.length * 0.95))).toBeLessThanOrEqual(64)
    expect(scanned()).toBe(0)
  })

  test('with numbers and addresses in it is not held back for long', async () => {
    const { filter, redact } = createFilter(['email', 'phone', 'credit-card', 'secrets'])
    const sentence =
      ' In 2024, 37 of 120 teams moved to version 3.2 (see table 4), at https://example.org/a or jane@example.org.'
    const text = sentence.repeat(20)
    const held: number[] = []
    const kept = new HeldText(filter, false)
    let [received, released] = [0, '']
    for (const event of text.match(/\s?\S{1,6}/g) ?? []) {
      received += event.length
      released += await kept.add(event)
      held.push(received - released.length)
    }
    expect(released + (await kept.end())).toBe(redact(text))
    held.sort((a, b) => a - b)
    expect(held.at(Math.floor(held.length / 2))).toBeLessThan(150)
    expect(held.at(-1)).toBeLessThan(400)
  })

  test('of the longest reach is held back until its matches are certain', async () => {
    const { filter } = createFilter(['person-name'])
    const text = prose.repeat(3)
    const released = await release(filter, text.match(/.{1,4}/g) ?? [])
    const beforeEnd = released.slice(0, -1).join('')
    expect(text.length - beforeEnd.length).toBeLessThan(512 + 256 + 128)
    expect(released.filter((piece) => piece !== '').length).toBeGreaterThan(4)
  })

  const repeated = 'BEGIN[^;]*;'

  test('under a pattern without a longest match is held back from where a match may begin', async () => {
    const { filter, redact, scanned } = createFilter([], [repeated])
    const events = (text: string) => text.match(/\s?\S{1,6}/g) ?? []
    const [before, match, after] = [events(prose), events(`BEGIN${prose};`), events(prose)]
    const released = await release(filter, [...before, ...match, ...after])
    expect(released.join('')).toBe(redact(`${prose.trimEnd()}BEGIN${prose};${prose.trimEnd()}`))
    expect(released.slice(0, before.length).join('')).toBe(prose.trimEnd())
    expect(released.slice(before.length, before.length + match.length - 1).join('')).toBe('')
    expect(scanned()).toBeLessThan(4 * prose.length)
  })

  test('is held back for no more than 4,096 characters by what may become a match', async () => {
    const { filter } = createFilter([], [repeated])
    const held = new HeldText(filter, false)
    const text = `BEGIN${prose.repeat(10)}`
    let [received, released, most] = [0, 0, 0]
    for (const piece of text.match(/[\s\S]{1,20}/g) ?? []) {
      received += piece.length
      released += (await held.add(piece)).length
      most = Math.max(most, received - released)
    }
    expect(most).toBeGreaterThan(4000)
    expect(most).toBeLessThan(2 * 4096)
  })

  test('is redacted by any custom pattern as the whole text would be, however it is split', async () => {
    const words = fc.constantFrom(
      ...[
        'KEY-',
        'key-',
        '12',
        '7',
        'x',
        'xxx',
        'START',
        'END',
        'STARTEND',
        ' ',
        '\n',
        '-',
        'a.b',
        'ab',
        'ba',
        'É',
      ],
      ...[
        '\u200b',
        'ＫＥＹ-1',
        '😀',
        'ſ',
        'foo',
        'foobar',
        'bar',
        ':',
        'Ω',
        '--',
        'name: Jo',
        'Name = Al ',
        '"q"',
      ],
    )
    const sets = [
      ['KEY-[0-9]+'],
      ['(?i)key-\\d*\\b', 'x+'],
      ['START.*END'],
      ['START[\\s\\S]*?END', '\\bfoo\\B', 'ab|ba|aba'],
      ['(?i)name\\s*[:=]\\s*\\w+', '(?m)^-+$', '😀+|[^\\x00-\\x7f]{2,}'],
    ]
    for (const patterns of sets) {
      const { filter, redact } = createFilter(['email', 'ssn'], patterns)
      await expectSameHoweverSplit(filter, redact, { words, maxLength: 60, numRuns: 150 })
    }
  })

  test('has no match that begins in a long piece', async () => {
    const { filter, redact } = createFilter([], ['KEY-[0-9]+', 'START[^;]*;'])
    const text = `${prose.repeat(5)}KEY-12 ${prose}START ${prose.repeat(2)}; ${prose.repeat(5)}`
    const start = text.indexOf('KEY')
    const end = text.indexOf(';') - 5
    for (const cut of [1, 3, 5]) {
      const between = text.slice(start + cut, end).match(/[\s\S]{1,11}/g) ?? []
      const released = await release(filter, [text.slice(0, start + cut), ...between, text.slice(end)])
      expect(released.join('')).toBe(redact(text))
    }
  })

  test('is held back by many patterns as far as their longest match reaches', async () => {
    const patterns = Array.from({ length: 20 }, (_, index) => `K${index}-[0-9]{2,20}`)
    const { filter, redact } = createFilter([], patterns)
    const text = `${prose}K7-123456 ${prose}`
    const released = await release(filter, text.match(/.{1,9}/g) ?? [])
    expect(released.join('')).toBe(redact(text))
    expect(released.slice(0, -1).join('').length).toBeGreaterThan(prose.length)
  })

  test('that is JSON stays JSON, and its escapes hide nothing', async () => {
    const { filter } = createFilter(['email', 'credit-card'])
    const text = '{"mail": "jane\\u0040example.org", "card": 4111111111111111, "n": 1}'
    const released = (await release(filter, [...text])).join('')
    expect(JSON.parse(released)).toEqual({ mail: '[EMAIL]', card: '[CREDIT_CARD]', n: 1 })
  })

  test('is scanned in time linear in its length, however small its pieces are', async () => {
    const { filter, scanned } = createFilter(['credit-card'])
    const text = prose.repeat(20)
    await release(filter, [...text])
    expect(scanned()).toBeLessThan(4 * text.length)
  })

  test('every match is counted once', async () => {
    const { filter, count, countWhole } = createFilter(['email'], ['KEY-[0-9]{4}'])
    const text = `${prose}KEY-1234 jane@example.org `.repeat(12)
    await release(filter, text.match(/[\s\S]{1,3}/g) ?? [])
    expect(count()).toBe(24)
    expect(countWhole(text)).toBe(24)
  })

  test('knows where its characters are after the edits', async () => {
    const { filter } = createFilter([], ['KEY-[0-9]{4}', 'x{2}'])
    const text = `KEY-1234 and xx, ${prose}KEY-5678 end`
    const held = new HeldText(filter, false)
    let released = ''
    for (const chunk of text.match(/[\s\S]{1,9}/g) ?? []) released += await held.add(chunk)
    released += await held.end()
    for (const word of ['and', 'reply', 'end'])
      expect(held.mapOffset(text.indexOf(word))).toBe(released.indexOf(word))
    expect([0, 3, 8].map((offset) => held.mapOffset(offset))).toEqual([0, 8, 8])
  })
})
