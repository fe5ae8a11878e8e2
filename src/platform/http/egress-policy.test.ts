import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { findUrlProblem, isAllowedPrivate, isPublicAddress } from './egress-policy.ts'

describe('S5 public addresses', () => {
  test.each([
    ['this host', '0.0.0.0'],
    ['this network', '0.1.2.3'],
    ['loopback', '127.0.0.1'],
    ['all of loopback', '127.255.255.254'],
    ['private 10', '10.0.0.1'],
    ['private 172', '172.16.0.1'],
    ['private 172, its end', '172.31.255.255'],
    ['private 192', '192.168.1.1'],
    ['link-local, metadata', '169.254.169.254'],
    ['carrier-grade NAT', '100.64.0.1'],
    ['metadata in carrier-grade NAT', '100.100.100.200'],
    ['metadata that looks public', '168.63.129.16'],
    ['protocol assignments', '192.0.0.192'],
    ['documentation', '203.0.113.7'],
    ['benchmarks', '198.19.0.1'],
    ['multicast', '224.0.0.1'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['IPv6 unspecified', '::'],
    ['IPv6 loopback', '::1'],
    ['IPv4-mapped', '::ffff:8.8.8.8'],
    ['IPv4-mapped loopback', '::ffff:127.0.0.1'],
    ['IPv4-compatible', '::8.8.8.8'],
    ['NAT64', '64:ff9b::808:808'],
    ['local NAT64', '64:ff9b:1::1'],
    ['6to4', '2002:7f00:1::1'],
    ['Teredo', '2001:0:1::1'],
    ['ORCHID', '2001:20::1'],
    ['IPv6 documentation', '2001:db8::1'],
    ['newer IPv6 documentation', '3fff::1'],
    ['unique local', 'fd00:ec2::254'],
    ['IPv6 link-local', 'fe80::1'],
    ['IPv6 link-local with a zone', 'fe80::1%eth0'],
    ['public with a zone', '2606:4700::1111%eth0'],
    ['site-local', 'fec0::1'],
    ['IPv6 multicast', 'ff02::1'],
    ['discard-only', '100::1'],
    ['not an address', 'example.com'],
    ['a number', '2130706433'],
    ['nothing', ''],
  ])('%s is rejected', (_, address) => {
    expect(isPublicAddress(address)).toBe(false)
  })

  test.each(['1.1.1.1', '8.8.8.8', '172.15.255.255', '172.32.0.1', '100.63.255.255', '100.128.0.1'])(
    '%s is public',
    (address) => {
      expect(isPublicAddress(address)).toBe(true)
    },
  )

  test.each(['2606:4700:4700::1111', '2a00:1450:4001:81b::200e', '2001:4860:4860::8888'])(
    '%s is public',
    (address) => {
      expect(isPublicAddress(address)).toBe(true)
    },
  )

  test('S5 no IPv4 address is reached through its IPv6 spelling', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(isPublicAddress(`::ffff:${address}`)).toBe(false)
        expect(isPublicAddress(`64:ff9b::${address}`)).toBe(false)
      }),
    )
  })
})

describe('allowed URLs', () => {
  const allow = ['collector.internal:4318', '127.0.0.1:80', '[::1]:443']
  const problem = (text: string) => findUrlProblem(URL.parse(text), allow)

  test.each([
    'https://example.com/x',
    'https://[::1]/',
    'http://COLLECTOR.internal:4318/v1',
    'http://127.1/',
  ])('%s is allowed', (text) => {
    expect(problem(text)).toBeNull()
  })

  test.each([
    ['not a URL', 'example.com'],
    ['http', 'http://example.com/'],
    ['a private address', 'https://10.0.0.1/'],
    ['a private address in IPv6', 'https://[fd00::1]/'],
    ['the address of cloud metadata', 'https://169.254.169.254/latest'],
    ['this machine by name', 'https://localhost/'],
    ['this machine by a longer name', 'https://x.localhost./'],
    ['http to another port of a listed host', 'http://collector.internal:4319/'],
    ['another scheme', 'ftp://collector.internal:4318/'],
    ['a file', 'file:///etc/passwd'],
    ['a password', 'https://user:secret@example.com/'],
    ['a user', 'https://user@example.com/'],
  ])('%s is rejected', (_, text) => {
    expect(problem(text)).toBeString()
  })

  test('a listed host is one host and one port', () => {
    expect(isAllowedPrivate(new URL('https://[0::1]/'), allow)).toBe(true)
    expect(isAllowedPrivate(new URL('http://[::1]/'), allow)).toBe(false)
    expect(isAllowedPrivate(new URL('http://collector.internal.evil.example:4318/'), allow)).toBe(false)
  })
})
