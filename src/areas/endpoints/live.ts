import { type Live, statuses } from '../../catalog/endpoint-record.ts'
import type { Endpoint } from '../../catalog/model.ts'
import type { Gateway } from '../../gateway.ts'
import type { Quantiles } from '../../lib/samples.ts'
import type { EndpointHealth } from '../../routing/health.ts'

/** Of fewer attempts a share says nothing. */
const fewestAttempts = 10

/** With the installation's own credential alone: what the keys of a tenant show is nobody else's business. */
export function liveOf({ routing, clock }: Gateway, { id, provider }: Endpoint): Live {
  const now = clock.now()
  const health = routing.health.known(id)
  const status = provider.enabled ? statusOf(health, now) : statuses.noCredential
  const shown = health?.shown(now)
  if (!shown) return { ...nothingKnown, status }
  return {
    status,
    latency: rounded(shown.latency),
    throughput: rounded(shown.throughput),
    requests: shown.completed30m,
    uptime5m: uptimeOf(shown.uptime5m, shown.attempts5m),
    uptime30m: uptimeOf(shown.uptime30m, shown.attempts30m),
    uptime1d: uptimeOf(shown.uptime1d, shown.attempts1d),
  }
}

const nothingKnown = {
  latency: null,
  throughput: null,
  requests: 0,
  uptime5m: null,
  uptime30m: null,
  uptime1d: null,
}

function statusOf(health: EndpointHealth | null, now: number): Live['status'] {
  if (health?.isPaused(now)) return statuses.paused
  if (health?.isEjected(now)) return statuses.ejected
  return health?.isUnstable(now) ? statuses.failing : statuses.healthy
}

function uptimeOf(share: number | null, attempts: number): number | null {
  return share === null || attempts < fewestAttempts ? null : hundredths(share)
}

function rounded(quantiles: Quantiles | null): Live['latency'] {
  if (!quantiles) return null
  const { p50, p75, p90, p99 } = quantiles
  return { p50: hundredths(p50), p75: hundredths(p75), p90: hundredths(p90), p99: hundredths(p99) }
}

function hundredths(value: number): number {
  return Math.round(value * 100) / 100
}
