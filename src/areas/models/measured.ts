import type { Model } from '../../catalog/model.ts'
import type { Gateway } from '../../gateway.ts'
import type { EndpointHealth } from '../../routing/health.ts'

/** What live traffic through this process has shown of a model: that of its best endpoint; undefined without any. */
export interface Measured {
  now: number
  /** Tokens a second, half of the replies. */
  throughput(model: Model): number | undefined
  /** Milliseconds to the first token, half of the replies. */
  latency(model: Model): number | undefined
  /** Share of the replies with tool calls in which every call was right. */
  toolSuccess(model: Model): number | undefined
}

export function measuredBy({ routing, clock }: Gateway): Measured {
  const now = clock.now()
  const valuesOf = (model: Model, value: (health: EndpointHealth) => number | null | undefined) =>
    model.endpoints.flatMap(({ id, service_tier }) => {
      // A lane that must be asked for says nothing about what a request gets.
      const health = service_tier === null ? routing.health.known(id) : null
      return (health && value(health)) ?? []
    })
  return {
    now,
    throughput: (model) => most(valuesOf(model, (health) => health.shown(now).throughput?.p50)),
    latency: (model) => least(valuesOf(model, (health) => health.shown(now).latency?.p50)),
    toolSuccess: (model) => most(valuesOf(model, (health) => health.toolSuccess(now))),
  }
}

function most(values: number[]): number | undefined {
  return values.length > 0 ? Math.max(...values) : undefined
}

function least(values: number[]): number | undefined {
  return values.length > 0 ? Math.min(...values) : undefined
}
