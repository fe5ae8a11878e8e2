import type { EngineRequest } from '../../formats/schema/search-engine.ts'
import { type DnsResolver, EgressError, sendBuffered } from '../../platform/http/egress-client.ts'
import { formatHostAndPort } from '../../platform/http/egress-policy.ts'
import { parseLongJson } from '../../platform/json/long-json.ts'
import type { EngineAccess } from './access.ts'
import type { WebSettings } from './settings.ts'

export interface SendContext {
  settings: { egress: { allow_private: readonly string[] }; web: WebSettings }
  /** Injected by tests. */
  resolve?: DnsResolver
}

/** An error that the model and the client see: no key, no address, nothing of the reply. */
export interface WebError {
  code: 'timeout' | 'unreachable' | 'unauthorized' | 'rate_limited' | 'rejected' | 'engine_error' | 'canceled'
  message: string
  /** Whether a search with another key may succeed. */
  isRetryable: boolean
}

export type EngineReply = { ok: true; body: unknown } | { ok: false; error: WebError }

interface SendLimits {
  maxBytes: number
  signal: AbortSignal
}

/** JSON values of a reply. */
const maxValues = 50_000

/** The only way to the APIs of search engines. Never throws. */
export async function sendEngineRequest(
  { settings, resolve }: SendContext,
  { baseUrl, isOperatorAddress }: EngineAccess,
  { method, path, headers, body }: EngineRequest,
  { maxBytes, signal }: SendLimits,
): Promise<EngineReply> {
  const url = baseUrl.replace(/\/+$/, '') + path
  const allowed = settings.egress.allow_private
  try {
    const response = await sendBuffered(
      {
        url,
        method,
        headers: {
          accept: 'application/json',
          'accept-encoding': 'identity',
          ...(body && { 'content-type': 'application/json' }),
          ...headers,
        },
        body: body && JSON.stringify(body),
      },
      {
        allowPrivate: isOperatorAddress ? [...allowed, formatHostAndPort(new URL(baseUrl))] : allowed,
        timeoutMs: settings.web.timeout,
        maxBytes,
        signal,
        ...(resolve && { resolve }),
      },
    )
    if (response.status !== 200) return fail(errorOfStatus(response.status))
    return { ok: true, body: await parseLongJson(new TextDecoder().decode(response.bytes), maxValues) }
  } catch (error) {
    return fail(signal.aborted ? errors.canceled : toWebError(error))
  }
}

function fail(error: WebError): EngineReply {
  return { ok: false, error }
}

const errors = {
  canceled: {
    code: 'canceled',
    message: 'The request ended before the search engine replied.',
    isRetryable: false,
  },
  timeout: { code: 'timeout', message: 'The search engine did not reply in time.', isRetryable: true },
  unreachable: { code: 'unreachable', message: 'The search engine could not be reached.', isRetryable: true },
  unauthorized: { code: 'unauthorized', message: 'The search engine rejected the key.', isRetryable: true },
  rateLimited: {
    code: 'rate_limited',
    message: 'The search engine limits the rate of requests. Try again later.',
    isRetryable: true,
  },
  rejected: { code: 'rejected', message: 'The search engine rejected the request.', isRetryable: false },
  failed: { code: 'engine_error', message: 'The search engine failed.', isRetryable: true },
  malformed: {
    code: 'engine_error',
    message: 'The reply of the search engine could not be read.',
    isRetryable: false,
  },
} as const satisfies Record<string, WebError>

export const malformedReply: WebError = errors.malformed

function errorOfStatus(status: number): WebError {
  if (status === 401 || status === 402 || status === 403) return errors.unauthorized
  if (status === 429) return errors.rateLimited
  return status >= 400 && status < 500 ? errors.rejected : errors.failed
}

function toWebError(error: unknown): WebError {
  if (!(error instanceof EgressError)) return errors.malformed
  if (error.kind === 'timeout') return errors.timeout
  return error.kind === 'too_large' ? errors.malformed : errors.unreachable
}
