import { rateLimited } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'

const mostPerMinute = 64
const minuteMs = 60_000

interface Minute {
  start: number
  counts: Map<string, number>
}

const minutes = new WeakMap<Gateway, Minute>()

/** Queries of an organization in this minute, on this node. */
export function countQuery(gateway: Gateway, organizationId: string): void {
  const now = gateway.clock.now()
  const start = now - (now % minuteMs)
  const known = minutes.get(gateway)
  const minute = known?.start === start ? known : { start, counts: new Map<string, number>() }
  minutes.set(gateway, minute)
  const count = (minute.counts.get(organizationId) ?? 0) + 1
  if (count > mostPerMinute) {
    throw rateLimited(`At most ${mostPerMinute} queries a minute.`, mostPerMinute, minuteMs, now)
  }
  minute.counts.set(organizationId, count)
}
