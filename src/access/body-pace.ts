import type { Gateway } from '../gateway/gateway.ts'
import type { Pace } from '../platform/http/body-reader.ts'

/** The minimum rate at which a request body must arrive. */
export function bodyPaceOf({ settings }: Gateway): Pace {
  return { idle: settings.limits.body_idle, bytesPerSecond: settings.limits.body_rate }
}
