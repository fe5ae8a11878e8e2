import { arize } from './arize.ts'
import { braintrust } from './braintrust.ts'
import { clickhouse } from './clickhouse.ts'
import { datadog } from './datadog.ts'
import type { Destination } from './destination.ts'
import { grafana } from './grafana.ts'
import { langfuse } from './langfuse.ts'
import { langsmith } from './langsmith.ts'
import { newrelic } from './newrelic.ts'
import { opik } from './opik.ts'
import { otelCollector } from './otel-collector.ts'
import { posthog } from './posthog.ts'
import { ramp } from './ramp.ts'
import { s3 } from './s3.ts'
import { sentry } from './sentry.ts'
import { snowflake } from './snowflake.ts'
import { weave } from './weave.ts'
import { webhook } from './webhook.ts'

/** Every kind of destination. A kind is a file here. */
export const destinations: Destination[] = [
  arize,
  braintrust,
  clickhouse,
  datadog,
  grafana,
  langfuse,
  langsmith,
  newrelic,
  opik,
  otelCollector,
  posthog,
  ramp,
  s3,
  sentry,
  snowflake,
  weave,
  webhook,
]

const byType = new Map(destinations.map((kind) => [kind.type, kind]))

export function getDestination(type: string): Destination {
  const kind = byType.get(type)
  if (!kind) throw new Error(`there is no destination of the type ${type}`)
  return kind
}
