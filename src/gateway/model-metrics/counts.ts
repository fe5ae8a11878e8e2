import type { FailureKind } from '../../formats/call/failure.ts'
import type { ErrorCode } from '../../platform/errors/table.ts'
import type { Exemplar } from '../exposition/metric-data.ts'

/** Upper bounds in seconds; the last one is above all values. */
export const durationBounds = [
  0.05,
  0.1,
  0.25,
  0.5,
  1,
  2.5,
  5,
  10,
  20,
  30,
  60,
  120,
  300,
  600,
  Number.POSITIVE_INFINITY,
]
export const firstTokenBounds = [
  0.01,
  0.025,
  0.05,
  0.1,
  0.25,
  0.5,
  0.75,
  1,
  2.5,
  5,
  10,
  30,
  60,
  Number.POSITIVE_INFINITY,
]
export const outputTokenBounds = [
  0.001,
  0.0025,
  0.005,
  0.01,
  0.025,
  0.05,
  0.1,
  0.2,
  0.5,
  1,
  Number.POSITIVE_INFINITY,
]

/** Of the exponential buckets, whose bounds grow by 9 %. */
export const nativeSchema = 3
export const bucketsPerDouble = 2 ** nativeSchema
/** Powers of two from the first exponential bucket to the last. */
const nativeDoubles = 24
/** The last exponential bucket also counts what is above it. */
export const lastNative = nativeDoubles * bucketsPerDouble
/** The first exponential bucket counts all values up to this power of two, in seconds. */
export const durationFrom = -10
export const outputTokenFrom = -16

/** How often a value was between two bounds: those given, and those of exponential buckets. */
export class Distribution {
  readonly bounds: readonly number[]
  readonly buckets: Float64Array
  /** The last value of each bucket that belongs to a trace; null before the first. */
  exemplars: (Exemplar | undefined)[] | null = null
  readonly native = new Float64Array(lastNative + 1)
  readonly nativeFrom: number
  sum = 0

  constructor(bounds: readonly number[], nativeFrom: number) {
    this.bounds = bounds
    this.buckets = new Float64Array(bounds.length)
    this.nativeFrom = nativeFrom
  }

  /** Notes the trace of a value that was counted. */
  exemplify(value: number, { traceId, spanId }: TracedSpan): void {
    this.exemplars ??= []
    const bucket = this.bounds.findIndex((bound) => value <= bound)
    this.exemplars[bucket] = { traceId, spanId, value, at: Date.now() }
  }
}

export interface TracedSpan {
  readonly traceId: string
  readonly spanId: string
}

/** An endpoint and an operation. */
export interface EndpointLabels extends Readonly<Record<string, string>> {
  readonly model: string
  readonly provider: string
  readonly endpoint: string
  readonly operation: string
}

/** Who spends, and on what. */
export interface SpendingLabels extends Readonly<Record<string, string>> {
  readonly workspace: string
  readonly model: string
  readonly provider: string
  readonly operation: string
}

export interface KeyLabels extends Readonly<Record<string, string>> {
  readonly workspace: string
  readonly key: string
}

export class EndpointCounts {
  readonly labels: EndpointLabels
  readonly duration = new Distribution(durationBounds, durationFrom)
  readonly firstToken = new Distribution(firstTokenBounds, durationFrom)
  readonly outputToken = new Distribution(outputTokenBounds, outputTokenFrom)
  succeeded = 0
  canceled = 0
  readonly failed = new Map<FailureKind | ErrorCode, number>()
  retries = 0
  failovers = 0
  cooldowns = 0
  ejections = 0
  /** The counts of workspaces that used it lately, by their ids. */
  readonly spending = new Map<string, SpendingCounts>()

  constructor(labels: EndpointLabels) {
    this.labels = labels
  }
}

/** The kinds of tokens do not overlap. */
class Spending<L> {
  readonly labels: L
  completed = 0
  failed = 0
  cancelled = 0
  rejected = 0
  cached = 0
  input = 0
  cacheRead = 0
  cacheWrite = 0
  output = 0
  reasoning = 0
  costNanos = 0
  upstreamNanos = 0

  constructor(labels: L) {
    this.labels = labels
  }
}

export class SpendingCounts extends Spending<SpendingLabels> {}

export class KeyCounts extends Spending<KeyLabels> {}
