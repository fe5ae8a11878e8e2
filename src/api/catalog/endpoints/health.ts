import { z } from 'zod'
import { mayOperate } from '../../../access/authorize.ts'
import { endpointStatuses, percentiles } from '../../../catalog/endpoint-record.ts'
import { failureFields, toFailureFields } from '../../../catalog/health/failure-record.ts'
import { hourField, requestCount, toHour } from '../../../catalog/health/health-summary.ts'
import type { Endpoint } from '../../../catalog/model.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { defineOperation } from '../../../http/operation.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import { readLiveStats } from './live-stats.ts'

const states = ['healthy', 'failing', 'ejected', 'cooling_down', 'no_credential'] as const

const uptime = z.number().nullable().describe('In percent; null with fewer than 10 attempts.')

const endpointHealth = z
  .strictObject({
    model_id: z.string(),
    provider: z.string(),
    provider_name: z.string(),
    tag: z.string(),
    state: z
      .enum(states)
      .describe(
        '`failing`: requests failed within the last 30 seconds, and it is tried last. `ejected`: left out for a while after repeated failures. `cooling_down`: left out for as long as the provider requested.',
      ),
    ...failureFields,
    uptime_last_5m: uptime,
    uptime_last_30m: uptime,
    uptime_last_1d: uptime,
    latency_last_30m: percentiles,
    throughput_last_30m: percentiles,
    requests_last_30m: requestCount,
    hours: z
      .array(
        hourField.extend({
          latency_p50: z.number().nullable().describe('Milliseconds to the first token.'),
          throughput_p50: z.number().nullable().describe('Tokens per second.'),
        }),
      )
      .describe('The last 24 hours, oldest first; empty without traffic.'),
  })
  .meta({ id: 'EndpointHealth' })

type HealthRecord = z.input<typeof endpointHealth>

export const listEndpointHealth = defineOperation({
  id: 'listEndpointHealth',
  method: 'GET',
  path: '/endpoints/health',
  tag: 'Endpoints',
  summary: 'Lists the health of endpoints: uptime, speed, errors by hour, and why one is left out.',
  description:
    'Measured over the requests that this process sent with the keys of the installation; BYOK keys do not count. When a process starts, it takes over the attempts of the last 24 hours from the database. Numbers of requests are null without the permission `system:read`.',
  permission: 'models:read',
  query: pageQuery.extend({
    model: z.string().min(1).max(256).optional().describe('The id of a model.'),
    provider: z.string().min(1).max(256).optional().describe('The slug of a provider.'),
  }),
  response: z.strictObject({ data: z.array(endpointHealth), total_count: z.int() }),
  handle: async ({ gateway, caller, query }) => {
    const showsCounts = await mayOperate(gateway, caller, 'system:read')
    const endpoints = gateway.catalog.models
      .filter(({ id }) => query.model === undefined || id === query.model)
      .flatMap((model) => model.endpoints)
      .filter(({ provider }) => query.provider === undefined || provider.slug === query.provider)
    const page = endpoints.slice(query.offset, query.offset + query.limit)
    return {
      data: page.map((endpoint) => toHealthRecord(gateway, endpoint, showsCounts)),
      total_count: endpoints.length,
    }
  },
})

const stateNames = {
  [endpointStatuses.healthy]: 'healthy',
  [endpointStatuses.failing]: 'failing',
  [endpointStatuses.ejected]: 'ejected',
  [endpointStatuses.coolingDown]: 'cooling_down',
  [endpointStatuses.noCredential]: 'no_credential',
} as const

function toHealthRecord(gateway: Gateway, endpoint: Endpoint, showsCounts: boolean): HealthRecord {
  const health = gateway.routing.health.find(endpoint.id)
  const stats = readLiveStats(gateway, endpoint)
  const now = gateway.clock.now()
  return {
    model_id: endpoint.model_id,
    provider: endpoint.provider.slug,
    provider_name: endpoint.provider.name,
    tag: endpoint.tag,
    state: stateNames[stats.status],
    ...toFailureFields(health, now),
    uptime_last_5m: stats.uptime5m,
    uptime_last_30m: stats.uptime30m,
    uptime_last_1d: stats.uptime1d,
    latency_last_30m: stats.latency,
    throughput_last_30m: stats.throughput,
    requests_last_30m: showsCounts ? stats.requests : null,
    hours: (health?.getHours(now) ?? []).map((hour) => ({
      ...toHour(hour, showsCounts),
      latency_p50: round(hour.medianLatency),
      throughput_p50: round(hour.medianThroughput),
    })),
  }
}

function round(value: number | null): number | null {
  return value === null ? null : Math.round(value * 100) / 100
}
