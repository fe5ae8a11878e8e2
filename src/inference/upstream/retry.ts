import { setTimeout as wait } from 'node:timers/promises'
import { type RetryPolicy, unprocessedStatuses } from '../../catalog/attempt-policy.ts'
import type { UpstreamFailure } from '../../formats/call/failure.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { ClientDisconnectedError } from '../failures/errors.ts'
import { isRequestFault } from '../failures/failure.ts'
import type { Routed } from '../request/inference-request.ts'
import type { Candidate } from '../routing/candidate.ts'
import { timeLeft } from './time-limits.ts'

/** BYOK keys can make a plan of any length. */
export const maxAttempts = 20

/**
 * Whether a candidate that has just failed is tried again: as declared for it or by the request, after the declared
 * pause; otherwise by the rule for all endpoints.
 */
export function shouldRetry(
  gateway: Gateway,
  request: Routed,
  candidate: Candidate,
  retries: number,
): boolean | Promise<boolean> {
  const failure = request.attempts.failed.at(-1)?.failure
  if (!failure) return false
  const policy = request.options.attempts?.retry ?? candidate.endpoint.attempts?.retry
  if (policy) return pauseBeforeRetry(gateway, request, policy, { failure, retries })
  return retries === 0 && shouldRetryOnce(gateway, request, candidate, failure)
}

/** Whether the last candidate is retried: once, unless it sent `Retry-After` or its retry budget is used up. */
function shouldRetryOnce(
  { routing }: Gateway,
  { plan, options }: Routed,
  candidate: Candidate,
  { status, retryAfterMs }: UpstreamFailure,
): boolean {
  if (candidate !== plan.candidates.at(-1)) return false
  // After a broken connection it is unknown whether the provider has processed the request.
  if (status === null || !unprocessedStatuses.has(status) || retryAfterMs !== undefined) return false
  return (
    options.preferences.allow_fallbacks !== false &&
    routing.health.getOrCreate(candidate.id).consumeRetryBudget()
  )
}

interface FailedTry {
  failure: UpstreamFailure
  /** The retries before it. */
  retries: number
}

async function pauseBeforeRetry(
  gateway: Gateway,
  request: Routed,
  policy: RetryPolicy,
  { failure, retries }: FailedTry,
): Promise<boolean> {
  const { attempts, httpRequest } = request
  if (retries >= policy.maxRetries || attempts.failed.length >= maxAttempts) return false
  if (!isRetryable(policy, failure)) return false
  const pauseMs = computePause(policy, failure, retries, gateway.routing.random())
  if (pauseMs === null || pauseMs >= timeLeft(gateway, request)) return false
  await wait(pauseMs, undefined, { signal: httpRequest.signal }).catch(() => {
    throw new ClientDisconnectedError()
  })
  return true
}

function isRetryable(policy: RetryPolicy, failure: UpstreamFailure): boolean {
  if (isRequestFault(failure)) return false
  return failure.status === null ? policy.retriesConnectionErrors : policy.statuses.has(failure.status)
}

/**
 * Milliseconds before a retry: doubled each time, between half of that and all of it at random, so that requests that
 * failed together do not return together. Null if the provider asks for more than the maximum.
 */
export function computePause(
  { backoffMs, maxBackoffMs }: Pick<RetryPolicy, 'backoffMs' | 'maxBackoffMs'>,
  { retryAfterMs = 0 }: Pick<UpstreamFailure, 'retryAfterMs'>,
  retries: number,
  random: number,
): number | null {
  if (retryAfterMs > maxBackoffMs) return null
  const pauseMs = Math.min(maxBackoffMs, backoffMs * 2 ** retries)
  return Math.max(retryAfterMs, pauseMs * (0.5 + random / 2))
}
