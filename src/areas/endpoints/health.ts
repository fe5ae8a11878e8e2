import { z } from 'zod'
import type { Gateway } from '../../app/gateway.ts'
import type { FailureKind } from '../../call/failure.ts'
import { endpointStatuses, percentiles } from '../../catalogue/endpoint-record.ts'
import type { Endpoint } from '../../catalogue/model.ts'
import { defineOperation } from '../../http/operation.ts'
import { pageQuery } from '../../lib/query-params.ts'
import type { EndpointHealth } from '../../routing/health.ts'
import { readLiveStats } from './live-stats.ts'

const states = ['healthy', 'failing', 'ejected', 'cooling_down', 'no_credential'] as const

const uptime = z.number().nullable().describe('In percent; null with fewer than 10 attempts.')

const lastError = z.strictObject({
  error_type: z.string(),
  status: z.int().nullable().describe("The status of the provider's response; null if there was none."),
  message: z.string().describe('What it means.'),
  at: z.string(),
})

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
    failing_since: z
      .string()
      .nullable()
      .describe('When it was first left out after its last success; null if it was not.'),
    unavailable_until: z
      .string()
      .nullable()
      .describe('Until when it is left out; null if requests are sent to it.'),
    last_error: lastError
      .nullable()
      .describe("The last failure that was not the request's; null if there was none."),
    uptime_last_5m: uptime,
    uptime_last_30m: uptime,
    uptime_last_1d: uptime,
    latency_last_30m: percentiles,
    throughput_last_30m: percentiles,
    requests_last_30m: z.int(),
    hours: z
      .array(z.strictObject({ until: z.string(), attempts: z.int(), failures: z.int() }))
      .describe('The last 24 hours, oldest first; empty without traffic.'),
  })
  .meta({ id: 'EndpointHealth' })

type HealthRecord = z.input<typeof endpointHealth>

export const listEndpointHealth = defineOperation({
  id: 'listEndpointHealth',
  method: 'GET',
  path: '/endpoints/health',
  tag: 'Admin',
  summary: 'Lists the health of endpoints: uptime, speed, errors by hour, and why one is left out.',
  description:
    'Measured over the requests this process sent since its start with the keys of the installation; BYOK keys do not count.',
  permission: 'models:read',
  query: pageQuery.extend({
    model: z.string().min(1).max(256).optional().describe('The id of a model.'),
    provider: z.string().min(1).max(256).optional().describe('The slug of a provider.'),
  }),
  response: z.strictObject({ data: z.array(endpointHealth), total_count: z.int() }),
  handle: async ({ gateway, query }) => {
    const endpoints = gateway.catalogue.models
      .filter(({ id }) => query.model === undefined || id === query.model)
      .flatMap((model) => model.endpoints)
      .filter(({ provider }) => query.provider === undefined || provider.slug === query.provider)
    const page = endpoints.slice(query.offset, query.offset + query.limit)
    return {
      data: page.map((endpoint) => toHealthRecord(gateway, endpoint)),
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

function toHealthRecord(gateway: Gateway, endpoint: Endpoint): HealthRecord {
  const health = gateway.routing.health.find(endpoint.id)
  const stats = readLiveStats(gateway, endpoint)
  const now = gateway.clock.now()
  return {
    model_id: endpoint.model_id,
    provider: endpoint.provider.slug,
    provider_name: endpoint.provider.name,
    tag: endpoint.tag,
    state: stateNames[stats.status],
    failing_since: toTime(health?.failure?.since ?? null),
    unavailable_until: toTime(health && findEnd(health, now)),
    last_error: toLastError(health),
    uptime_last_5m: stats.uptime5m,
    uptime_last_30m: stats.uptime30m,
    uptime_last_1d: stats.uptime1d,
    latency_last_30m: stats.latency,
    throughput_last_30m: stats.throughput,
    requests_last_30m: stats.requests,
    hours: (health?.getHourlyAttempts(now) ?? []).map(({ endsAt, succeeded, failed }) => ({
      until: new Date(endsAt).toISOString(),
      attempts: succeeded + failed,
      failures: failed,
    })),
  }
}

function toTime(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString()
}

function findEnd(health: EndpointHealth, now: number): number | null {
  const ends = [
    ...(health.isCoolingDown(now) ? [health.cooldownUntil] : []),
    ...(health.isEjected(now) ? [health.ejectedUntil] : []),
  ]
  return ends.length === 0 ? null : Math.max(...ends)
}

/** Of the failures that health counts. */
const meanings: Partial<Record<FailureKind, string>> = {
  authentication: 'The provider rejected the credential. Check the key of the provider.',
  payment_required: 'The account at the provider has no credit left. Add credit there.',
  permission_denied: 'The credential may not use this model. Check its permissions at the provider.',
  not_found: 'The provider does not know the model or the address. Check both in the catalogue.',
  rate_limit_exceeded: 'The rate limit at the provider is reached. It is used again afterwards.',
  provider_overloaded: 'The provider is overloaded. It is used again when it recovers.',
  provider_unavailable: 'The provider could not be reached, or failed. It is used again when it recovers.',
  server: 'The provider failed. It is used again when it recovers.',
  timeout: 'The provider did not answer in time. It is used again when it recovers.',
}

function toLastError(health: EndpointHealth | null): HealthRecord['last_error'] {
  if (!health?.lastFailure) return null
  const { kind, status, at } = health.lastFailure
  return {
    error_type: kind,
    status,
    message: meanings[kind] ?? 'The request failed at the provider.',
    at: new Date(at).toISOString(),
  }
}
