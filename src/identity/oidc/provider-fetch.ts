import type { CustomFetch } from 'openid-client'
import { type EgressOptions, sendBuffered } from '../../platform/http/egress-client.ts'

/** Timeout of one request to a provider. */
const timeoutMs = 10_000
/** Discovery documents, key sets and tokens are a few kilobytes. */
const maxBytes = 512 * 1024

/** `fetch` for the protocol's client, through the rules for addresses that users choose. Redirects are not followed. */
export function createProviderFetch(egress: () => EgressOptions): CustomFetch {
  return async (url, { method, headers, body }) => {
    if (method !== 'GET' && method !== 'POST') throw new Error(`method ${method} is not used`)
    const text = body === null || body === undefined ? null : String(body)
    const sent = { ...headers, 'accept-encoding': 'identity' }
    const options = { ...egress(), timeoutMs, maxBytes }
    const response = await sendBuffered({ url, method, headers: sent, body: text }, options)
    return new Response(response.bytes, { status: response.status, headers: response.headers })
  }
}
