import { newTimeOrderedHex } from '../platform/crypto/ids.ts'

/** The charges to an organization in one transaction. */
interface Posting {
  id: string
  revenue: bigint
  fees: bigint
}

/** Postings by organization. */
export type Postings = Map<string, Posting>

/**
 * Adds a charge to the one posting of its organization. Returns the id of the posting; null for a charge of
 * zero.
 */
export function postCharge(
  postings: Postings,
  organizationId: string,
  isByok: boolean,
  amount: bigint,
): string | null {
  if (amount === 0n) return null
  let posting = postings.get(organizationId)
  if (!posting) {
    posting = { id: `post-${newTimeOrderedHex()}`, revenue: 0n, fees: 0n }
    postings.set(organizationId, posting)
  }
  if (isByok) posting.fees += amount
  else posting.revenue += amount
  return posting.id
}

/** Each posting sums to zero. */
export function buildEntries(postings: Postings, now: string): unknown[][] {
  return [...postings].flatMap(([organization, { id, revenue, fees }]) => {
    const lines: [string, bigint][] = [
      ['credits', -revenue - fees],
      ['revenue', revenue],
      ['byok_fees', fees],
    ]
    const moved = lines.filter(([, amount]) => amount !== 0n)
    return moved.map(([account, amount]) => [id, organization, account, String(amount), 'charge', now])
  })
}
