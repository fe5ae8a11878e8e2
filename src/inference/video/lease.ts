import type { Gateway } from '../../gateway/gateway.ts'
import { isoNow } from '../../platform/time/clock.ts'
import { type Lease, updateHeldJob } from '../../storage/video-jobs.ts'

/** A node that has not renewed its lease for this long is considered dead, and its jobs are taken over. */
export const leaseTimes = { leaseMs: 60_000, renewMs: 15_000 }

export function buildLease({ node, clock }: Gateway): Lease {
  return {
    owner: node.id,
    now: isoNow(clock),
    until: new Date(clock.now() + leaseTimes.leaseMs).toISOString(),
  }
}

/** Keeps the lease of a job while work on it is in progress. */
export async function withLease<T>(gateway: Gateway, jobId: string, work: () => Promise<T>): Promise<T> {
  const renew = () => {
    const { owner, until } = buildLease(gateway)
    // If it fails, another node may take the job over; what this one then writes has no effect.
    updateHeldJob(gateway.db, jobId, owner, { lease_until: until }).catch(() => undefined)
  }
  const timer = setInterval(renew, leaseTimes.renewMs).unref()
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}
