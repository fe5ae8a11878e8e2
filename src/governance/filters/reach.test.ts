import { describe, expect, test } from 'bun:test'
import { fakeSecret, secretFormats } from './corpus/fake-secrets.ts'
import { type DetectorSlug, detectors } from './detectors.ts'
import { computeReach, findCertainEnd } from './reach.ts'

function reachOf(slug: DetectorSlug, pattern?: string) {
  const traits = { action: 'redact', isEnforced: true, layers: [] } as const
  return computeReach({
    builtins: [{ ...traits, slug }],
    customs: pattern === undefined ? [] : [{ ...traits, pattern, label: null }],
  })
}

const label = 'a'.repeat(63)
const word = `A${'b'.repeat(24)}`
const longestRest = `\n\n\n\n\n\nApartment 123-45${`\n\n\n\n\n\n${word}`.repeat(7)}\n\n\n\n\n\n62704`

/** The longest texts that a detector takes for one match. */
const longest: [DetectorSlug, string][] = [
  ['email', `${'a'.repeat(64)}@${`${label}.`.repeat(8)}xn--${'a'.repeat(59)}`],
  ['email', `${'a'.repeat(64)}  (  arroba  )  ${label}${`  [  punkt  ]  ${label}`.repeat(4)}`],
  [
    'email',
    `${'a'.repeat(64)}${` dot ${'a'.repeat(64)}`.repeat(3)} at ${label}${` dot ${label}`.repeat(3)} dot example`,
  ],
  ['phone', `+ (1234)${'  (1)'.repeat(7)}`],
  ['credit-card', '4111 1111 1111 1111'],
  ['credit-card', [...'6200000000000000000'].join(' - ')],
  ['ip-address', '123[dot]123[dot]123[dot]123'],
  [
    'person-name',
    `Mademoiselle Dr. Prof. Dipl. J. K. Van Von ${word}-${word}${` J. van von der ${word}-${word}`.repeat(3)}`,
  ],
  [
    'address',
    `Apartment 123-45, 12345a-12345 South ${`${word} `.repeat(3)}Boulevard., Apartment 123-45, ${word}${` ${word}`.repeat(3)}, IL 62704-1234`,
  ],
  [
    'address',
    `Apartment 123-45, 12345a-12345 South ${`${word} `.repeat(3)}Boulevard., Apartment 123-45, ${word}${` ${word}`.repeat(3)}, IL 62704-1234${longestRest}`,
  ],
]

describe('the reach of a detector', () => {
  test.each(longest)('%s covers its longest match', (slug, match) => {
    const spans = detectors[slug](`See ${match} there.`)
    const length = Math.max(...spans.map(({ start, end }) => end - start))
    expect(length).toBeGreaterThan(10)
    expect(reachOf(slug).characters).toBeGreaterThanOrEqual(length)
    expect(reachOf(slug).characters).toBeGreaterThanOrEqual(match.length)
  })

  test.each(secretFormats)('a %s that has not ended is not certain', (id) => {
    const secret = fakeSecret(id)
    const isWord = !/\s/.test(secret)
    const end = findCertainEnd(
      `${'Some words. '.repeat(50)}${isWord ? secret : secret.slice(0, 20)}`,
      reachOf('secrets'),
    )
    expect(end).toBeLessThanOrEqual(600)
  })

  test('counts visible characters only', () => {
    const text = `${'word '.repeat(100)}4111 1111${'\u200b'.repeat(500)}`
    expect(findCertainEnd(text, reachOf('credit-card'))).toBeLessThanOrEqual(500)
  })

  test('is infinite where a pattern or encoded text has no longest match', () => {
    expect(reachOf('ssn', 'a+').characters).toBe(Number.POSITIVE_INFINITY)
    expect(reachOf('ssn', 'a{5000}').characters).toBe(Number.POSITIVE_INFINITY)
    expect(reachOf('regex-prompt-injection').characters).toBe(Number.POSITIVE_INFINITY)
    expect(reachOf('ssn', '\\bKEY-[0-9]{8}\\b').characters).toBe(64)
  })
})
