import type { Gateway } from '../../app/gateway.ts'
import type { Model } from '../../catalogue/model.ts'
import type { EndpointHealth } from '../../routing/health.ts'

/** What live traffic through this process has shown of a model: that of its best endpoint; undefined without any. */
export interface LiveMetrics {
  now: number
  /** Tokens a second, half of the replies. */
  throughput(model: Model): number | undefined
  /** Milliseconds to the first token, half of the replies. */
  latency(model: Model): number | undefined
  /** Share of the replies with tool calls in which every call was right. */
  toolSuccess(model: Model): number | undefined
}

export function readLiveMetrics({ routing, clock }: Gateway): LiveMetrics {
  const now = clock.now()
  const collectValues = (model: Model, value: (health: EndpointHealth) => number | null | undefined) =>
    model.endpoints.flatMap(({ id, service_tier }) => {
      // A lane that must be asked for says nothing about what a request gets.
      const health = service_tier === null ? routing.health.find(id) : null
      return (health && value(health)) ?? []
    })
  return {
    now,
    throughput: (model) =>
      maxOrUndefined(collectValues(model, (health) => health.getStats(now).throughput?.p50)),
    latency: (model) => minOrUndefined(collectValues(model, (health) => health.getStats(now).latency?.p50)),
    toolSuccess: (model) => maxOrUndefined(collectValues(model, (health) => health.getToolSuccess(now))),
  }
}

function maxOrUndefined(values: number[]): number | undefined {
  return values.length > 0 ? Math.max(...values) : undefined
}

function minOrUndefined(values: number[]): number | undefined {
  return values.length > 0 ? Math.min(...values) : undefined
}
