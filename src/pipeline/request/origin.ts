import type { Gateway } from '../../app/gateway.ts'
import { parseRequestUrl } from '../../lib/request-url.ts'

/** True for a page of this server itself, by its own address or the public one. */
export function isOwnOrigin(gateway: Gateway, request: Request, origin: string): boolean {
  if (!URL.canParse(origin)) return false
  const { public_url } = gateway.settings
  if (public_url && new URL(public_url).origin === origin) return true
  return new URL(origin).host === request.headers.get('host')
}

/** Where clients reach this server, for addresses in answers. */
export function publicOrigin({ settings }: Gateway, request: Request): string {
  return settings.public_url ? new URL(settings.public_url).origin : parseRequestUrl(request).origin
}
