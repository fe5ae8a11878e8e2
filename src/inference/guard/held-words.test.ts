import { describe, expect, test } from 'bun:test'
import type { DetectorSlug } from '../../governance/filters/detectors.ts'
import { FilterSet } from '../../governance/filters/filter-set.ts'
import { computeStreamReach } from '../../governance/filters/reach.ts'
import { redactText } from '../../governance/filters/redact-text.ts'
import { scanText } from '../../governance/filters/scan-text.ts'
import { HeldText } from './held-text.ts'

const place = { part: 'text', role: 'assistant', message: null } as const
const slugs: DetectorSlug[] = ['email', 'phone', 'credit-card', 'secrets']
const rules = {
  builtins: slugs.map((slug) => ({ slug, action: 'redact', isEnforced: true, layers: ['key'] }) as const),
  customs: [],
}
const set = new FilterSet(rules)

async function release(text: string, length: number): Promise<string> {
  const held = new HeldText(
    {
      reach: computeStreamReach(rules),
      scan: async (section, from) =>
        scanText(set, { text: section, place, ...(from !== undefined && { from }) }),
      redact: async (whole) => redactText(set, whole, place),
      report: () => undefined,
    },
    false,
  )
  const released: string[] = []
  for (let at = 0; at < text.length; at += length) released.push(await held.add(text.slice(at, at + length)))
  return released.join('') + (await held.end())
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const claims = Object.fromEntries(
  Array.from({ length: 60 }, (_, index) => [`claim-${index}`, `value-${index * 7919}`]),
)
const token = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}.${'q7Xw2Lr9Tz4Vb8Nc6Mk3'.repeat(3)}`
const mathematicalDigits = [...'4111111111111111']
  .map((digit) => String.fromCodePoint(0x1d7ce + Number(digit)))
  .join('')

const texts: [string, string][] = [
  ['a long JSON web token', `The token is ${token} and it lasts.`],
  [
    'a card in digits outside the basic plane',
    `Pay with ${mathematicalDigits}, or with cash, as you like it.`,
  ],
  [
    'an address with a spelled domain of many labels',
    'Write to jane [at] subdomain-one-two . some-company-name-very-long-of-its-kind . example . co . uk today.',
  ],
  [
    'an address with a long label',
    `Write to jane [at] ${'x'.repeat(63)} [dot] example [dot] org, or do not.`,
  ],
  [
    'a private key in hexadecimal digits with its name behind it',
    `It is 0x${'4f9ac1d27be3805f'.repeat(4)}, transaction of today, or the day before.`,
  ],
]

describe('R35 the words of a filtered stream', () => {
  test.each(texts)('are released as the whole text is redacted: %s', async (_, text) => {
    const { text: redacted } = redactText(set, text, place)
    for (const length of [1, 3, 7, 40]) expect(await release(text, length)).toBe(redacted ?? text)
  })
})
