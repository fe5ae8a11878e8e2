import { endpointStatuses, type LiveStats } from '../../../catalog/endpoint-record.ts'
import type { EndpointHealth } from '../../../catalog/health/health.ts'
import type { Endpoint } from '../../../catalog/model.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { Quantiles } from '../../../platform/concurrency/sliding-histogram.ts'

/** A share of fewer attempts is not meaningful. */
const minAttempts = 10

/** Counts the installation's own credential only: the traffic of a tenant's BYOK keys stays private. */
export function readLiveStats({ routing, clock }: Gateway, { id, provider }: Endpoint): LiveStats {
  const now = clock.now()
  const health = routing.health.find(id)
  const status = provider.enabled ? resolveStatus(health, now) : endpointStatuses.noCredential
  const stats = health?.getStats(now)
  if (!stats) return { ...noStats, status }
  return {
    status,
    latency: roundQuantiles(stats.latency),
    throughput: roundQuantiles(stats.throughput),
    requests: stats.completed30m,
    uptime5m: roundUptime(stats.uptime5m, stats.attempts5m),
    uptime30m: roundUptime(stats.uptime30m, stats.attempts30m),
    uptime1d: roundUptime(stats.uptime1d, stats.attempts1d),
  }
}

const noStats = {
  latency: null,
  throughput: null,
  requests: 0,
  uptime5m: null,
  uptime30m: null,
  uptime1d: null,
}

function resolveStatus(health: EndpointHealth | null, now: number): LiveStats['status'] {
  if (health?.isCoolingDown(now)) return endpointStatuses.coolingDown
  if (health?.isEjected(now)) return endpointStatuses.ejected
  return health?.isUnstable(now) ? endpointStatuses.failing : endpointStatuses.healthy
}

function roundUptime(share: number | null, attempts: number): number | null {
  return share === null || attempts < minAttempts ? null : roundToHundredths(share)
}

function roundQuantiles(quantiles: Quantiles | null): LiveStats['latency'] {
  if (!quantiles) return null
  const { p50, p75, p90, p99 } = quantiles
  return {
    p50: roundToHundredths(p50),
    p75: roundToHundredths(p75),
    p90: roundToHundredths(p90),
    p99: roundToHundredths(p99),
  }
}

function roundToHundredths(value: number): number {
  return Math.round(value * 100) / 100
}
