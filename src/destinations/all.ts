import { clickhouse } from './clickhouse.ts'
import { datadog } from './datadog.ts'
import type { Destination } from './destination.ts'
import { otlpDestinations } from './otlp.ts'
import { posthog } from './posthog.ts'
import { s3 } from './s3.ts'
import { snowflake } from './snowflake.ts'

/** Every kind of destination. A kind is a file here, or an entry in otlp.ts. */
export const destinations: Destination[] = [...otlpDestinations, clickhouse, datadog, posthog, s3, snowflake]

const byType = new Map(destinations.map((kind) => [kind.type, kind]))

export function getDestination(type: string): Destination {
  const kind = byType.get(type)
  if (!kind) throw new Error(`there is no destination of the type ${type}`)
  return kind
}
