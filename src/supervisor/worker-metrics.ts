import { AggregatorRegistry, type Registry } from 'prom-client'
import type { MetricData, WorkerStatus } from '../gateway/worker-protocol.ts'

/**
 * The metrics of all workers as those of one server: counters and histograms are added up, and each gauge says how it is
 * combined. The counts of workers that have ended remain, so that no counter decreases.
 */
export class WorkerMetrics {
  #ended: MetricData[] = []

  /** Keeps the counts of a worker that has ended. */
  retain(metrics: readonly MetricData[]): void {
    const counts = metrics.filter(({ type }) => type === 'counter' || type === 'histogram')
    this.#ended = combine([this.#ended, counts])
  }

  async render(
    workers: readonly WorkerStatus[],
    metrics: readonly MetricData[][],
  ): Promise<{ body: string; contentType: string }> {
    const registry = aggregate([...metrics, this.#ended, describeWorkers(workers)])
    return { body: await registry.metrics(), contentType: registry.contentType }
  }
}

function aggregate(metrics: readonly (readonly MetricData[])[]): Registry {
  return AggregatorRegistry.aggregate([...metrics])
}

function combine(metrics: readonly (readonly MetricData[])[]): MetricData[] {
  const names = new Set(metrics.flatMap((each) => each.map(({ name }) => name)))
  const registry = aggregate(metrics)
  return [...names].flatMap((name) => readMetric(registry, name))
}

function readMetric(registry: Registry, name: string): MetricData[] {
  // What is aggregated is data: its `get` returns no promise, unlike that of a metric that is counted.
  const metric = registry.getSingleMetric(name) as unknown as { get(): MetricData } | undefined
  return metric ? [metric.get()] : []
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
