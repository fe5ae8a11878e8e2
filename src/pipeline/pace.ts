import type { Gateway } from '../gateway.ts'
import type { Pace } from '../lib/body.ts'

/** How slowly the bodies of requests may arrive. */
export function paceOf({ settings }: Gateway): Pace {
  return { idle: settings.limits.body_idle, bytesPerSecond: settings.limits.body_rate }
}
