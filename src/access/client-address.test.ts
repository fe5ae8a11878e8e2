import { expect, test } from 'bun:test'
import type { Gateway } from '../gateway/gateway.ts'
import { resolveRequestSource } from './client-address.ts'

function resolve(peer: string, trusted: string[], forwarded?: string): string | null {
  const gateway = {
    connections: { requestIP: () => ({ address: peer }) },
    settings: { trusted_proxies: trusted },
  } as unknown as Gateway
  const headers = forwarded === undefined ? undefined : { 'x-forwarded-for': forwarded }
  return resolveRequestSource(gateway, new Request('http://localhost/', { headers })).ip
}

test('without trusted proxies X-Forwarded-For is ignored', () => {
  expect(resolve('192.0.2.1', [], '198.51.100.7')).toBe('192.0.2.1')
})

test('behind trusted proxies the address next to them counts, not one the client made up', () => {
  expect(resolve('10.0.0.2', ['10.0.0.0/8'], '203.0.113.9, 198.51.100.7, 10.0.0.1')).toBe('198.51.100.7')
})

test('text that is no address ends the list', () => {
  expect(resolve('10.0.0.2', ['10.0.0.0/8'], 'evil')).toBe('10.0.0.2')
})

test('IPv4 in the form of IPv6 is IPv4', () => {
  expect(resolve('::ffff:10.0.0.2', ['10.0.0.0/8'], '2001:db8::1')).toBe('2001:db8::1')
})

test.each([
  ['198.51.100.7:41532', '198.51.100.7'],
  ['[2001:db8::1]:41532', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['[::ffff:198.51.100.7]:80', '198.51.100.7'],
  ['203.0.113.9, 198.51.100.7:41532, 10.0.0.1:80', '198.51.100.7'],
])('an address of X-Forwarded-For may have a port: %s', (forwarded, expected) => {
  expect(resolve('10.0.0.2', ['10.0.0.0/8'], forwarded)).toBe(expected)
  expect(resolve('192.0.2.1', ['10.0.0.0/8'], forwarded)).toBe('192.0.2.1')
})

test.each(['198.51.100.7:', '198.51.100.7:http', '[198.51.100.7]', '[2001:db8::1', 'host:80'])(
  'no address: %s',
  (forwarded) => {
    expect(resolve('10.0.0.2', ['10.0.0.0/8'], forwarded)).toBe('10.0.0.2')
  },
)
