import type { SpanAttributes } from './span-recorder.ts'

/** The name and port that a URL is requested from; nothing for a provider without an address. */
export function describeServer(url: string): SpanAttributes {
  const { hostname = '', port = '', protocol } = URL.parse(url) ?? {}
  if (hostname === '') return {}
  return { 'server.address': hostname, 'server.port': Number(port) || (protocol === 'http:' ? 80 : 443) }
}
