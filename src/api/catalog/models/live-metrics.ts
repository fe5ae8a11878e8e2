import type { EndpointHealth } from '../../../catalog/health/health.ts'
import type { Model } from '../../../catalog/model.ts'
import type { ModelBenchmarks } from '../../../catalog/model-record.ts'
import type { Gateway } from '../../../gateway/gateway.ts'

/** Metrics of a model's best endpoint from this process's live traffic, and its benchmarks; undefined if unknown. */
export interface LiveMetrics {
  now: number
  /** Median tokens per second. */
  getThroughput(model: Model): number | undefined
  /** Median milliseconds to the first token. */
  getLatency(model: Model): number | undefined
  /** Share of the replies with tool calls in which every call was valid. */
  getToolSuccess(model: Model): number | undefined
  findBenchmarks(model: Model): ModelBenchmarks | undefined
}

export function readLiveMetrics({ routing, clock, benchmarks }: Gateway): LiveMetrics {
  const now = clock.now()
  const collectValues = (model: Model, value: (health: EndpointHealth) => number | null | undefined) =>
    model.endpoints.flatMap(({ id, service_tier }) => {
      // A service tier that must be requested is not representative.
      const health = service_tier === null ? routing.health.find(id) : null
      return (health && value(health)) ?? []
    })
  return {
    now,
    getThroughput: (model) =>
      maxOrUndefined(collectValues(model, (health) => health.getStats(now).throughput?.p50)),
    getLatency: (model) =>
      minOrUndefined(collectValues(model, (health) => health.getStats(now).latency?.p50)),
    findBenchmarks: benchmarks.current.findModelBenchmarks,
    getToolSuccess: (model) => maxOrUndefined(collectValues(model, (health) => health.getToolSuccess(now))),
  }
}

function maxOrUndefined(values: number[]): number | undefined {
  return values.length > 0 ? Math.max(...values) : undefined
}

function minOrUndefined(values: number[]): number | undefined {
  return values.length > 0 ? Math.min(...values) : undefined
}
