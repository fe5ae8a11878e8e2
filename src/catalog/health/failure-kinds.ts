import type { FailureKind } from '../../formats/call/failure.ts'

/** Failures caused by the endpoint, not by the request or a quota. */
export const endpointFailures: ReadonlySet<FailureKind> = new Set([
  'authentication',
  'payment_required',
  'provider_overloaded',
  'provider_unavailable',
  'server',
  'timeout',
])

/** The count that a failure belongs to; null if it was the request's. */
export function classifyFailure(kind: FailureKind): 'failed' | 'rejected' | null {
  if (endpointFailures.has(kind)) return 'failed'
  return rejections.has(kind) ? 'rejected' : null
}

/** May concern this request alone: the endpoint ranks lower for a while but is not ejected. */
export const rejections: ReadonlySet<FailureKind> = new Set([
  'rate_limit_exceeded',
  'permission_denied',
  'not_found',
])
