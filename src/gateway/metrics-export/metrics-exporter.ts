import type { MetricsExportConfig } from '../../config.ts'
import { sendBuffered } from '../../platform/http/egress-client.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import type { MetricData } from '../exposition/metric-data.ts'
import { createMetricsEncoder, type MetricsEncoder } from './metrics-encoder.ts'

const timeoutMs = 10_000
const maxResponseBytes = 64 * 1024
/** Values of one request: encoding them takes a few milliseconds. */
const maxValues = 5000

/**
 * Sends the metrics of this process to the operator's OTLP receiver. They are totals since its start, so a request that
 * failed needs no repetition: the next one has all.
 */
export class MetricsExporter {
  readonly #config: MetricsExportConfig
  readonly #encoder: MetricsEncoder
  readonly #collect: () => Promise<MetricData[]>
  readonly #startedAt = Date.now()

  constructor(config: MetricsExportConfig, instanceId: string, collect: () => Promise<MetricData[]>) {
    this.#config = config
    this.#encoder = createMetricsEncoder(config, instanceId)
    this.#collect = collect
  }

  /** Rejects if the receiver does not accept them. */
  async export(limitMs: number = timeoutMs): Promise<void> {
    const encoder = this.#encoder
    const metrics = await this.#collect()
    const times = { startedAt: this.#startedAt, at: Date.now() }
    for (const batch of divide(metrics)) {
      await this.#post(encoder.encode(batch, times), encoder.contentType, limitMs)
      await yieldToEventLoop()
    }
  }

  /** The operator chose the address: it may be private and plain http. */
  async #post(body: Uint8Array, contentType: string, limitMs: number): Promise<void> {
    const { endpoint, headers } = this.#config
    const { protocol, hostname, port } = new URL(endpoint)
    const allowPrivate = [`${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`]
    const { status } = await sendBuffered(
      {
        url: endpoint,
        method: 'POST',
        headers: { 'user-agent': 'headgate', ...headers, 'content-type': contentType },
        body,
      },
      { allowPrivate, timeoutMs: limitMs, maxBytes: maxResponseBytes },
    )
    if (status < 200 || status >= 300) throw new Error(`the receiver of metrics responded with ${status}`)
  }
}

/** Whole metrics, so that a histogram is in one request. */
function* divide(metrics: readonly MetricData[]): Generator<MetricData[]> {
  let [batch, values]: [MetricData[], number] = [[], 0]
  for (const metric of metrics) {
    if (batch.length > 0 && values + metric.values.length > maxValues) {
      yield batch
      ;[batch, values] = [[], 0]
    }
    batch.push(metric)
    values += metric.values.length
  }
  if (batch.length > 0) yield batch
}
