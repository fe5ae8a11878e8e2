import { newTimeOrderedHex } from '../platform/crypto/ids.ts'

const leasePrefix = 'lease-'

/** SQL pattern of the ids of leases. */
export const leasePattern = `${leasePrefix}%`

/** SQL pattern of the ids of the leases of a journal. */
export function leasePatternOf(journalId: string): string {
  return `${leasePrefix}${journalId}-%`
}

/**
 * A lease is a hold. Its id names the journal of its node, and is that of an extension, so that versions without leases
 * release it like one.
 */
export function newLeaseId(journalId: string): string {
  return `${leasePrefix}${journalId}-${newTimeOrderedHex()}+`
}
