import { describe, expect, test } from 'bun:test'
import { parseEmailAddress, parseEmailDomain } from './email-address.ts'

describe('E-mail addresses', () => {
  test.each([
    ['Ada@Example.COM', 'ada@example.com'],
    ['ada+tag@example.com', 'ada+tag@example.com'],
    ['ADA@BÜCHER.example', 'ada@xn--bcher-kva.example'],
    ['ada@xn--bcher-kva.example', 'ada@xn--bcher-kva.example'],
    ['ada@ＢÜCHER。ｅxample', 'ada@xn--bcher-kva.example'],
    ['ada@\uff45xample.com', 'ada@example.com'],
    ['jose\u0301@example.com', 'jos\u00e9@example.com'],
  ])('%s is compared as %s', (text, address) => {
    expect(parseEmailAddress(text)?.address).toBe(address)
  })

  test.each([
    ['a homograph in the local part', '\u0430da@example.com'],
    ['a homograph in the domain', 'ada@ex\u0430mple.com'],
    ['a dotless i', 'ada@\u0131xample.com'],
    ['another domain', 'ada@example.com.evil.test'],
  ])('%s is another address', (_, text) => {
    expect(parseEmailAddress(text)?.address).not.toBe('ada@example.com')
  })

  test.each([
    ['a full-width letter', '\uff41da@example.com'],
    ['the Kelvin sign', '\u212aada@example.com'],
    ['a zero-width character', 'ad\u200ba@example.com'],
    ['two addresses', 'ada@example.com,eve@evil.test'],
    ['two at signs', 'ada@evil.test@example.com'],
    ['a quoted local part', '"ada@evil.test"@example.com'],
    ['a space', 'ada @example.com'],
    ['a line break', 'ada@example.com\n'],
    ['an IP address', 'ada@127.0.0.1'],
    ['a host without a dot', 'ada@localhost'],
    ['nothing', ''],
    ['a long address', `${'a'.repeat(250)}@example.com`],
  ])('%s is not an address', (_, text) => {
    expect(parseEmailAddress(text)).toBeNull()
  })

  test.each([
    'example.com.',
    '*.example.com',
    'example',
    '-a.example',
    'a..b',
    '10.0.0.1',
    '%61.example',
    'a.example:25',
    '',
  ])('%s is not a domain', (text) => expect(parseEmailDomain(text)).toBeNull())
})
