import type { Logger } from 'pino'
import type { TracingConfig } from '../../config.ts'
import { type BufferedResponse, EgressError, sendBuffered } from '../http/egress-client.ts'
import { withDeadline } from '../time/deadline.ts'
import type { OtlpEncoder, QueuedSpan } from './otlp-encoder.ts'
import type { RecordedSpan, RequestRoot, SpanSink } from './span-recorder.ts'

/** Spans that wait for their export; more are dropped. */
const maxQueued = 8192
/** Encoding a batch takes about two milliseconds. */
const batchSize = 256
const intervalMs = 2000
const timeoutMs = 10_000
const maxResponseBytes = 64 * 1024
/** Delays before each retry of a batch. */
const retryDelaysMs = [1000, 2000, 4000]
/** Milliseconds to send the queue at shutdown. */
const closeTimeoutMs = 5000
const warningIntervalMs = 60_000
const retryableStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** Sends spans to the operator's OTLP receiver, in batches. Traffic never waits for it. */
export class SpanExporter implements SpanSink {
  readonly #config: TracingConfig
  readonly #encoder: OtlpEncoder
  readonly #log: Logger
  readonly #timer: ReturnType<typeof setInterval>
  #queue: QueuedSpan[] = []
  #exporting: Promise<void> | null = null
  readonly #stopRetries = Promise.withResolvers<void>()
  #isClosed = false
  #warnedAt = Number.NEGATIVE_INFINITY
  exportedCount = 0
  /** Spans dropped because the queue was full or the receiver did not accept them. */
  droppedCount = 0

  constructor(config: TracingConfig, encoder: OtlpEncoder, log: Logger) {
    this.#config = config
    this.#encoder = encoder
    this.#log = log
    this.#timer = setInterval(() => void this.flush(), intervalMs)
    this.#timer.unref()
  }

  add(root: RequestRoot, span: RecordedSpan): void {
    if (this.#isClosed || this.#queue.length >= maxQueued) this.droppedCount++
    else this.#queue.push({ root, span })
    if (this.#queue.length === batchSize) void this.flush()
  }

  /** Sends what is queued. Never rejects. */
  flush(): Promise<void> {
    this.#exporting ??= this.#exportQueue().finally(() => {
      this.#exporting = null
    })
    return this.#exporting
  }

  /** Sends what is queued, within a bound. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#stopRetries.resolve()
    await withDeadline(closeTimeoutMs, this.flush(), () => new Error('timeout')).catch(() => undefined)
    this.droppedCount += this.#queue.length
    this.#queue = []
  }

  async #exportQueue(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, batchSize)
      const problem = await this.#deliver(batch).catch((error: unknown) => nameProblem(error))
      if (problem === null) this.exportedCount += batch.length
      else {
        this.droppedCount += batch.length
        this.#warn(problem)
      }
    }
  }

  /** Sends a batch, with retries. Returns the reason it was not accepted, or null. */
  async #deliver(batch: readonly QueuedSpan[]): Promise<string | null> {
    const body = this.#encoder.encode(batch)
    for (const delayMs of retryDelaysMs) {
      const { problem, isRetryable } = await this.#send(body)
      if (problem === null || !isRetryable || this.#isClosed) return problem
      await Promise.race([Bun.sleep(delayMs), this.#stopRetries.promise])
    }
    return (await this.#send(body)).problem
  }

  async #send(body: Uint8Array): Promise<{ problem: string | null; isRetryable: boolean }> {
    try {
      const { status } = await this.#post(body)
      if (status >= 200 && status < 300) return { problem: null, isRetryable: false }
      return { problem: `status ${status}`, isRetryable: retryableStatuses.has(status) }
    } catch (error) {
      return { problem: nameProblem(error), isRetryable: error instanceof EgressError }
    }
  }

  /** The operator chose the address: it may be private and plain http. */
  #post(body: Uint8Array): Promise<BufferedResponse> {
    const { endpoint, headers } = this.#config
    const { protocol, hostname, port } = new URL(endpoint)
    const allowPrivate = [`${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`]
    return sendBuffered(
      {
        url: endpoint,
        method: 'POST',
        headers: { 'user-agent': 'headgate', ...headers, 'content-type': this.#encoder.contentType },
        body,
      },
      { allowPrivate, timeoutMs, maxBytes: maxResponseBytes },
    )
  }

  #warn(problem: string): void {
    const now = performance.now()
    if (now - this.#warnedAt < warningIntervalMs) return
    this.#warnedAt = now
    this.#log.warn({ problem, dropped: this.droppedCount }, 'traces could not be exported')
  }
}

function nameProblem(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
