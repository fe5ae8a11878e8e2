import type { Gateway } from '../app/gateway.ts'
import { gatewayError } from '../errors/gateway-error.ts'
import { infoOf } from '../permissions/permissions.ts'
import { isOwnOrigin } from '../pipeline/request/origin.ts'
import type { Access } from './operation.ts'

const exposedHeaders = [
  'x-request-id, x-generation-id, x-headgate-dropped',
  'x-service-cache-status, x-service-cache-age, x-service-cache-ttl, x-service-cache-source-id',
  'retry-after, x-should-retry, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset',
  'accept-ranges, content-range, etag, content-disposition',
  'x-goog-upload-url, x-goog-upload-status, x-goog-upload-size-received',
].join(', ')
const preflightMaxAgeSeconds = '600'

/** Management operations are for servers: a browser may call them only from origins the operator lists. */
function listAllowedOrigins(gateway: Gateway, permission: Access): string[] {
  const { inference, management } = gateway.settings.cors
  const isManagement = permission !== 'public' && infoOf(permission).keys === 'management'
  return isManagement ? management : inference
}

/** The headers a browser needs to read the response, null for other clients; throws for an origin that is not allowed. */
export function buildCorsHeaders(
  gateway: Gateway,
  request: Request,
  permission: Access,
): Record<string, string> | null {
  const origin = request.headers.get('origin')
  if (origin === null) return null
  const allowed = listAllowedOrigins(gateway, permission)
  if (!allowed.includes('*') && !allowed.includes(origin) && !isOwnOrigin(gateway, request, origin)) {
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
