import type { MetricData } from './exposition/metric-data.ts'

/** The upper bounds of the histogram, in seconds. */
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30, 60, 120, 300, 600]

const requestsName = 'headgate_http_requests_total'
const requestsHelp = 'HTTP requests, by operation and status.'
const secondsName = 'headgate_http_request_seconds'
const secondsHelp = 'Time from the request line to the first byte of the response, by operation.'

/** The counts of one operation. */
class OperationCounts {
  readonly byStatus = new Map<number, number>()
  /** Counts of durations up to each bound and above the one before it; the last is above all bounds. */
  readonly buckets = new Array<number>(bounds.length + 1).fill(0)
  seconds = 0
}

/** Counts the requests of each operation. Plain numbers: every request is counted, and a registry is several times as slow. */
export class RequestCounts {
  readonly #operations = new Map<string, OperationCounts>()

  record(operation: string, status: number, seconds: number): void {
    let counts = this.#operations.get(operation)
    if (!counts) {
      counts = new OperationCounts()
      this.#operations.set(operation, counts)
    }
    counts.byStatus.set(status, (counts.byStatus.get(status) ?? 0) + 1)
    counts.seconds += seconds
    let at = 0
    while (at < bounds.length && seconds > (bounds[at] ?? 0)) at++
    counts.buckets[at] = (counts.buckets[at] ?? 0) + 1
  }

  /** The counts as data, to be added to those of other processes. */
  collect(): MetricData[] {
    const requests: MetricData['values'] = []
    const seconds: MetricData['values'] = []
    for (const [operation, counts] of this.#operations) {
      for (const [status, value] of counts.byStatus) requests.push({ value, labels: { operation, status } })
      seconds.push(...collectHistogram(operation, counts))
    }
    const aggregator = 'sum'
    return [
      { name: requestsName, help: requestsHelp, type: 'counter', aggregator, values: requests },
      { name: secondsName, help: secondsHelp, type: 'histogram', aggregator, values: seconds },
    ]
  }
}

function collectHistogram(operation: string, { buckets, seconds }: OperationCounts): MetricData['values'] {
  let total = 0
  const values: MetricData['values'] = buckets.map((count, at) => {
    total += count
    const labels = { le: bounds[at] ?? '+Inf', operation }
    return { metricName: `${secondsName}_bucket`, labels, value: total }
  })
  const labels = { operation }
  values.push({ metricName: `${secondsName}_sum`, labels, value: seconds })
  values.push({ metricName: `${secondsName}_count`, labels, value: total })
  return values
}
