import { keyOf } from '../gateway/exposition/histograms.ts'
import type { MetricData, MetricValue, NativeHistogram } from '../gateway/exposition/metric-data.ts'
import type { WorkerStatus } from '../gateway/worker-protocol.ts'
import { yieldToEventLoop } from '../platform/time/time-slicer.ts'

/**
 * The metrics of all workers as those of one server: counters and histograms are added up, and each gauge says how it is
 * combined. The counts of workers that have ended remain, so that no counter decreases.
 */
export class WorkerMetrics {
  #ended: MetricData[] = []

  /** Keeps the counts of a worker that has ended. */
  retain(metrics: readonly MetricData[]): void {
    const counts = metrics.filter(({ type }) => type === 'counter' || type === 'histogram')
    this.#ended = [...combineMetrics([this.#ended, counts])]
  }

  async combine(
    workers: readonly WorkerStatus[],
    metrics: readonly (readonly MetricData[])[],
  ): Promise<MetricData[]> {
    const combined: MetricData[] = []
    for (const metric of combineMetrics([...metrics, this.#ended, describeWorkers(workers)])) {
      combined.push(metric)
      await yieldToEventLoop()
    }
    return combined
  }
}

function* combineMetrics(processes: readonly (readonly MetricData[])[]): Generator<MetricData> {
  const byName = Map.groupBy(processes.flat(), ({ name }) => name)
  for (const same of byName.values()) {
    const [first] = same
    if (!first || first.aggregator === 'omit') continue
    const values = Map.groupBy(
      same.flatMap((metric) => metric.values),
      ({ metricName, labels }) => `${metricName ?? ''} ${keyOf(labels)}`,
    )
    const native = Map.groupBy(
      same.flatMap((metric) => metric.native ?? []),
      ({ labels }) => keyOf(labels),
    )
    yield {
      ...first,
      values: [...values.values()].flatMap((each) => combineValues(each, first.aggregator)),
      ...(native.size > 0 && { native: [...native.values()].flatMap(addNatives) }),
    }
  }
}

function combineValues(same: readonly MetricValue[], aggregator: string): MetricValue[] {
  const [first] = same
  if (!first) return []
  const exemplars = same.flatMap(({ exemplar }) => exemplar ?? [])
  const exemplar = exemplars.toSorted((a, b) => b.at - a.at)[0]
  const numbers = same.map(({ value }) => value)
  return [{ ...first, value: aggregate(numbers, aggregator), ...(exemplar && { exemplar }) }]
}

function aggregate(values: readonly number[], aggregator: string): number {
  if (aggregator === 'min') return Math.min(...values)
  if (aggregator === 'max') return Math.max(...values)
  if (aggregator === 'first') return values[0] ?? 0
  const sum = values.reduce((total, value) => total + value, 0)
  return aggregator === 'average' ? sum / values.length : sum
}

/** All processes have the same schema and threshold. */
function addNatives(same: readonly NativeHistogram[]): NativeHistogram[] {
  const [first] = same
  if (!first) return []
  const filled = same.filter(({ counts }) => counts.length > 0)
  const offset = Math.min(...filled.map((each) => each.offset))
  const end = Math.max(...filled.map((each) => each.offset + each.counts.length))
  const counts = new Array<number>(filled.length > 0 ? end - offset : 0).fill(0)
  for (const each of filled)
    for (const [index, count] of each.counts.entries()) {
      const at = each.offset - offset + index
      counts[at] = (counts[at] ?? 0) + count
    }
  const add = (read: (each: NativeHistogram) => number) => same.reduce((total, each) => total + read(each), 0)
  return [
    {
      ...first,
      offset: filled.length > 0 ? offset : first.offset,
      counts,
      zeroCount: add(({ zeroCount }) => zeroCount),
      sum: add(({ sum }) => sum),
      count: add(({ count }) => count),
    },
  ]
}

function describeWorkers(workers: readonly WorkerStatus[]): MetricData[] {
  const label = ({ number }: WorkerStatus) => ({ worker: String(number) })
  return [
    {
      name: 'headgate_worker_up',
      help: '1 if the worker accepts connections.',
      type: 'gauge',
      aggregator: 'sum',
      values: workers.map((worker) => ({ value: worker.state === 'running' ? 1 : 0, labels: label(worker) })),
    },
    {
      name: 'headgate_worker_restarts_total',
      help: 'Starts of the worker after its first, after a crash or on request.',
      type: 'counter',
      aggregator: 'sum',
      values: workers.map((worker) => ({ value: worker.restarts, labels: label(worker) })),
    },
  ]
}
