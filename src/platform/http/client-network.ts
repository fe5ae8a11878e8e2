import { isIPv6 } from 'node:net'

/** The network that limits count an address in: a client has a whole /64 of IPv6, its site up to a /48. */
export function networkOf(ip: string, part: 'client' | 'site' = 'client'): string {
  if (!isIPv6(ip)) return ip
  const [head = '', tail = ''] = ip.split('::')
  const left = head.split(':').filter(Boolean)
  const right = tail.split(':').filter(Boolean)
  const zeros = ip.includes('::') ? Array.from({ length: 8 - left.length - right.length }, () => '0') : []
  return [...left, ...zeros, ...right].slice(0, part === 'site' ? 3 : 4).join(':')
}
