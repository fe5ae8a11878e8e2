import { type BlockList, isIP } from 'node:net'
import type { Gateway } from '../gateway/gateway.ts'
import type { RequestSource } from '../identity/sessions.ts'
import { createBlockList } from '../platform/http/address-ranges.ts'

const maxUserAgentLength = 512

/** The address of the client, and the browser or library it uses. */
export function resolveRequestSource(gateway: Gateway, request: Request): RequestSource {
  const userAgent = request.headers.get('user-agent')?.slice(0, maxUserAgentLength) ?? null
  return { ip: resolveClientAddress(gateway, request), userAgent }
}

const peers = new WeakMap<Request, string>()

/** Called when a request arrives: the address is lost when the client closes the connection. */
export function rememberPeer({ connections }: Gateway, request: Request): void {
  const peer = connections?.requestIP(request)?.address
  if (peer !== undefined) peers.set(request, peer)
}

/** `X-Forwarded-For` counts from the right, as far as each address is a trusted proxy. */
function resolveClientAddress({ connections, settings }: Gateway, request: Request): string | null {
  const peer = peers.get(request) ?? connections?.requestIP(request)?.address ?? null
  const forwarded = (request.headers.get('x-forwarded-for') ?? '').split(',').map((part) => part.trim())
  let address = peer && normalize(peer)
  while (address && isTrusted(settings.trusted_proxies, address)) {
    const next = parseForwarded(forwarded.pop() ?? '')
    if (next === null) break
    address = normalize(next)
  }
  return address
}

/** An address without its port, which some proxies add; IPv6 may be in brackets. Null for other text. */
function parseForwarded(text: string): string | null {
  const ipv6 = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(text)?.[1]
  if (ipv6 !== undefined) return isIP(ipv6) === 6 ? ipv6 : null
  const address = text.replace(/^([\d.]+):\d{1,5}$/, '$1')
  return isIP(address) === 0 ? null : address
}

/** An IPv4 address in the form of IPv6 is shown as IPv4. */
function normalize(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '')
}

/** Block lists by the ranges of the settings: a list is slow to build. */
const trustedLists = new WeakMap<readonly string[], BlockList>()

function isTrusted(ranges: readonly string[], address: string): boolean {
  if (ranges.length === 0) return false
  const list = trustedLists.get(ranges) ?? createBlockList(ranges)
  trustedLists.set(ranges, list)
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}
