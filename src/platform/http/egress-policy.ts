import { isIP } from 'node:net'
import { createBlockList } from './address-ranges.ts'

/** IPv4 that is not public unicast: IANA's special-purpose registry, multicast and reserved ranges. */
const specialV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // The platform endpoint of Azure machines, which looks public.
  '168.63.129.16/32',
]

/** Public IPv6 is 2000::/3 without these: tunnels that carry an IPv4 address, tests and documentation. */
const specialV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

const blockedAddresses = createBlockList([...specialV4, ...specialV6])
const publicV6 = createBlockList(['2000::/3'])

/** Text that is not an IP address is not public. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address)
  if (version === 4) return !blockedAddresses.check(address, 'ipv4')
  // A zone (fe80::1%eth0) names a link of this machine.
  if (version !== 6 || address.includes('%')) return false
  return publicV6.check(address, 'ipv6') && !blockedAddresses.check(address, 'ipv6')
}

/** Whether the operator lists this host and port, which may then be private and plain http. */
export function isAllowedPrivate(url: URL, allowPrivate: readonly string[]): boolean {
  const target = formatHostAndPort(url)
  return allowPrivate.some((entry) => {
    const listed = URL.parse(`http://${entry}`)
    return listed !== null && formatHostAndPort(listed) === target
  })
}

/** Formats the address in the form of `egress.allow_private`. */
export function formatHostAndPort(url: URL): string {
  return `${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`
}

/** The reason requests to this URL are not allowed, or null. The resolved addresses are checked when connecting. */
export function findUrlProblem(
  url: URL | null,
  allowPrivate: readonly string[],
  allowPlainHttp = false,
): string | null {
  if (url === null) return 'must be an absolute URL'
  if (url.username || url.password) return 'must not contain a user name or password'
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:'
  if (isWeb && isAllowedPrivate(url, allowPrivate)) return null
  const isAllowedScheme = url.protocol === 'https:' || (isWeb && allowPlainHttp)
  if (isAllowedScheme && !isLocalHostname(url.hostname)) return null
  return 'must be an https URL with a public address; http and private addresses are allowed only for a host and port that the operator lists in egress.allow_private'
}

/** Whether the host is private without a DNS lookup. */
function isLocalHostname(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (isIP(host) !== 0) return !isPublicAddress(host)
  return host === 'localhost' || host.endsWith('.localhost')
}
