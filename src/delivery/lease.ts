import type { Gateway } from '../gateway/gateway.ts'
import { isoNow } from '../platform/time/clock.ts'
import { type Lease, takeLease, updateHeldState } from './destination-states.ts'

/** Another node takes a destination over that has not been renewed for this long. Longer than a request takes. */
export const deliveryLease = { leaseMs: 60_000, renewMs: 15_000 }

export function buildLease({ node, clock }: Gateway): Lease {
  return {
    owner: node.id,
    now: isoNow(clock),
    until: new Date(clock.now() + deliveryLease.leaseMs).toISOString(),
  }
}

/** Runs the work if no other node does, and keeps others from it meanwhile. */
export async function withLease(gateway: Gateway, id: string, work: () => Promise<void>): Promise<void> {
  const { db, node } = gateway
  if (!(await takeLease(db, id, buildLease(gateway)))) return
  const renew = () => {
    // If it fails, another node may send the same events again, with the same ids.
    updateHeldState(db, id, node.id, { lease_until: buildLease(gateway).until }).catch(() => undefined)
  }
  const timer = setInterval(renew, deliveryLease.renewMs).unref()
  try {
    await work()
  } finally {
    clearInterval(timer)
    await updateHeldState(db, id, node.id, { lease_owner: null, lease_until: null })
  }
}
