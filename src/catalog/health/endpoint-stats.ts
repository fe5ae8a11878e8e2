import type { FailureKind } from '../../formats/call/failure.ts'
import type { Quantiles } from '../../platform/concurrency/sliding-histogram.ts'

export interface Speed {
  /** Milliseconds to the first token. */
  latency: Quantiles | null
  /** Tokens per second. */
  throughput: Quantiles | null
}

/** Statistics of an endpoint that the API reports. */
export interface EndpointStats extends Speed {
  /** Percentage of the attempts that succeeded or failed at the endpoint; null if there were none. */
  uptime5m: number | null
  uptime30m: number | null
  uptime1d: number | null
  /** The number of attempts that the uptime is computed from. */
  attempts5m: number
  attempts30m: number
  attempts1d: number
  /** Successful replies of the last 30 minutes. */
  completed30m: number
}

/** A failure without the vendor's message, which may quote the request of a tenant. */
export interface LastFailure {
  kind: FailureKind
  /** The HTTP status; null if there was none. */
  status: number | null
  at: number
}

/** Until when an endpoint is left out, for other nodes. */
export interface EndpointRestriction {
  cooldownUntil: number
  /** The full length of the cooldown. */
  cooldownMs: number
  ejectedUntil: number
  lastFailure: LastFailure | null
}

/** Outcomes of attempts. */
export interface AttemptCounts {
  succeeded: number
  failed: number
  /** Rejected, which may concern one request. */
  rejected: number
}

/** An hour by the clock. */
export interface HourlyHealth {
  endsAt: number
  succeeded: number
  failed: number
  /** Medians of the replies; null if there were none. */
  medianLatency: number | null
  medianThroughput: number | null
}

/** The speed of a reply. */
export interface ReplyPerformance {
  firstTokenMs: number
  /** Null for a reply without tokens. */
  tokensPerSecond: number | null
}
