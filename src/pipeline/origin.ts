import type { Gateway } from '../gateway.ts'

/** True for a page of this server itself, by its own address or the public one. */
export function isOwnOrigin(gateway: Gateway, request: Request, origin: string): boolean {
  if (!URL.canParse(origin)) return false
  const { public_url } = gateway.settings
  if (public_url && new URL(public_url).origin === origin) return true
  return new URL(origin).host === request.headers.get('host')
}
