import type { Gateway } from '../gateway/gateway.ts'
import { parseRequestUrl } from '../platform/http/request-url.ts'

/** Whether a page of this server sent the request, at its own host or at `public_url`. */
export function isOwnOrigin(gateway: Gateway, httpRequest: Request, origin: string): boolean {
  if (!URL.canParse(origin)) return false
  const { public_url } = gateway.settings
  if (public_url && new URL(public_url).origin === origin) return true
  return new URL(origin).host === httpRequest.headers.get('host')
}

/** The origin clients use. */
export function resolvePublicOrigin({ settings }: Gateway, httpRequest: Request): string {
  return settings.public_url ? new URL(settings.public_url).origin : parseRequestUrl(httpRequest).origin
}

/** The path prefix that a proxy adds, from `public_url`: `/gateway`, or nothing. */
export function pathPrefixOf({ settings }: Pick<Gateway, 'settings'>): string {
  return settings.public_url ? new URL(settings.public_url).pathname.replace(/\/+$/, '') : ''
}

/** The URL of this server for clients, without a slash at the end: the base of URLs in responses. */
export function resolvePublicUrl(gateway: Gateway, httpRequest: Request): string {
  return resolvePublicOrigin(gateway, httpRequest) + pathPrefixOf(gateway)
}

/** Whether a page of this server sent a form or a script's request; true for a client that is not a browser. */
export function isSameOrigin(gateway: Gateway, httpRequest: Request): boolean {
  const site = httpRequest.headers.get('sec-fetch-site')
  // Behind a proxy that rewrites `Host`, only `Sec-Fetch-Site` is reliable.
  if (site !== null) return site === 'same-origin' || site === 'none'
  const origin = httpRequest.headers.get('origin')
  return origin === null || isOwnOrigin(gateway, httpRequest, origin)
}
