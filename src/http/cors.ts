import { hasCredential } from '../access/authenticate.ts'
import { isOwnOrigin } from '../access/origin.ts'
import { sessionTokenOf } from '../access/session.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { infoOf } from '../identity/permissions/permissions.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import type { Operation } from './operation.ts'

const exposedHeaders = [
  'x-request-id, x-generation-id, x-headgate-dropped',
  'x-service-cache-status, x-service-cache-age, x-service-cache-ttl, x-service-cache-source-id',
  'x-service-cache-mode, x-service-cache-similarity, x-service-cache-reason',
  'retry-after, x-should-retry, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset',
  'accept-ranges, content-range, etag, content-disposition, idempotent-replayed',
  'x-goog-upload-url, x-goog-upload-status, x-goog-upload-size-received',
].join(', ')
const preflightMaxAgeSeconds = '600'

type CorsOperation = Pick<Operation, 'permission' | 'ownOriginOnly'>

/**
 * Management operations are for servers: a browser may call them only from origins the operator lists. What a session can
 * read is for pages of this server alone.
 */
function listAllowedOrigins(
  gateway: Gateway,
  request: Request,
  { permission, ownOriginOnly }: CorsOperation,
): string[] {
  const { inference, management } = gateway.settings.cors
  const keys = permission === 'public' ? 'any' : infoOf(permission).keys
  if (ownOriginOnly || keys === 'none' || isFromSession(gateway, request)) return []
  return keys === 'management' ? management : inference
}

function isFromSession(gateway: Gateway, request: Request): boolean {
  return !hasCredential(request) && sessionTokenOf(gateway, request) !== null
}

/** The headers a browser needs to read the response, null for other clients; throws for an origin that is not allowed. */
export function buildCorsHeaders(
  gateway: Gateway,
  request: Request,
  operation: CorsOperation,
): Record<string, string> | null {
  const origin = request.headers.get('origin')
  if (origin === null) return null
  const allowed = listAllowedOrigins(gateway, request, operation)
  const isListed = allowed.includes('*') || allowed.includes(URL.parse(origin)?.origin ?? origin)
  if (!isListed && !isOwnOrigin(gateway, request, origin)) {
    throw gatewayError('origin_refused')
  }
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': exposedHeaders,
    vary: 'origin',
  }
}

export function buildPreflightHeaders(request: Request, methods: string): Record<string, string> {
  return {
    allow: methods,
    'access-control-allow-methods': methods,
    'access-control-allow-headers': request.headers.get('access-control-request-headers') ?? 'authorization',
    'access-control-max-age': preflightMaxAgeSeconds,
  }
}
