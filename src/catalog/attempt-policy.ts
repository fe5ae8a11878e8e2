import type { DeclaredAttemptPolicy } from '../formats/schema/attempt-policy.ts'

/** Milliseconds; infinite where nothing is declared. */
export interface Timeouts {
  first_byte: number
  first_content: number
  idle: number
  total: number
}

export interface RetryPolicy {
  maxRetries: number
  statuses: ReadonlySet<number>
  /** Milliseconds before the first retry, and the most before any. */
  backoffMs: number
  maxBackoffMs: number
  /** Whether attempts without a status of the provider are retried. */
  retriesConnectionErrors: boolean
}

export interface HedgePolicy {
  /** Milliseconds without content; null if only the percentile counts. */
  afterMs: number | null
  percentile: 'p50' | 'p75' | 'p90' | 'p99' | null
}

/** What the attempts at an endpoint may take, and how often they are repeated. */
export interface AttemptPolicy {
  timeouts: Timeouts | null
  /** Null: the rule for all endpoints applies. */
  retry: RetryPolicy | null
  /** Null: nothing is declared. */
  hedge: HedgePolicy | false | null
}

/** Statuses of providers that have not processed the request. */
export const unprocessedStatuses: ReadonlySet<number> = new Set([502, 503, 529])
const defaultBackoff = 0.5
const defaultMaxBackoff = 8

/** Combines declarations, the most specific one last: the strictest timeouts apply, and the most specific of the rest. */
export function combinePolicies(...policies: readonly (AttemptPolicy | null)[]): AttemptPolicy | null {
  let combined: AttemptPolicy | null = null
  for (const policy of policies) {
    if (combined === null || policy === null) combined = policy ?? combined
    else
      combined = {
        timeouts: combineTimeouts(combined.timeouts, policy.timeouts),
        retry: policy.retry ?? combined.retry,
        hedge: policy.hedge ?? combined.hedge,
      }
  }
  return combined
}

/** Null if nothing is declared. */
export function compilePolicy({ timeout, retry, hedge }: DeclaredAttemptPolicy): AttemptPolicy | null {
  if (timeout === undefined && retry === undefined && hedge === undefined) return null
  return {
    timeouts: timeout === undefined ? null : compileTimeouts(timeout),
    retry: compileRetry(retry),
    hedge: compileHedge(hedge),
  }
}

function compileHedge(hedge: DeclaredAttemptPolicy['hedge']): AttemptPolicy['hedge'] {
  if (!hedge) return hedge ?? null
  const { after, percentile = null } = hedge
  return { afterMs: after === undefined ? null : after * 1000, percentile }
}

export function compileTimeouts(timeout: NonNullable<DeclaredAttemptPolicy['timeout']>): Timeouts {
  const declared = typeof timeout === 'number' ? { total: timeout } : timeout
  const toMs = (seconds: number | undefined) =>
    seconds === undefined ? Number.POSITIVE_INFINITY : seconds * 1000
  return {
    first_byte: toMs(declared.first_byte),
    first_content: toMs(declared.first_content),
    idle: toMs(declared.idle),
    total: toMs(declared.total),
  }
}

export function combineTimeouts(a: Timeouts | null, b: Timeouts | null): Timeouts | null {
  if (!a || !b) return a ?? b
  return {
    first_byte: Math.min(a.first_byte, b.first_byte),
    first_content: Math.min(a.first_content, b.first_content),
    idle: Math.min(a.idle, b.idle),
    total: Math.min(a.total, b.total),
  }
}

function compileRetry(retry: DeclaredAttemptPolicy['retry']): RetryPolicy | null {
  if (!retry) return null
  const { max_retries, statuses, backoff = defaultBackoff, max_backoff = defaultMaxBackoff } = retry
  return {
    maxRetries: max_retries,
    statuses: statuses ? new Set(statuses) : unprocessedStatuses,
    backoffMs: backoff * 1000,
    maxBackoffMs: max_backoff * 1000,
    retriesConnectionErrors: retry.connection_errors ?? false,
  }
}
