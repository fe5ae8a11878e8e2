import { newTimeOrderedHex } from '../platform/crypto/ids.ts'

const leasePrefix = 'lease-'

/** SQL pattern of the ids of leases. */
export const leasePattern = `${leasePrefix}%`

/** A lease is a hold. Its id is that of an extension, so that versions without leases release it like one. */
export function newLeaseId(): string {
  return `${leasePrefix}${newTimeOrderedHex()}+`
}

export function isLease(id: string): boolean {
  return id.startsWith(leasePrefix)
}
