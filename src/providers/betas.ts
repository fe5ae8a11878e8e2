import type { WireRequest } from '../catalog/provider.ts'

/** What the Messages format knows at its vendor's own address alone. */
export const firstPartyFields = ['tags']
const firstPartyBeta = /^request-tags-/

/** The betas a client asked for, without those that a cloud would refuse. */
export function knownBetas(headers: WireRequest['headers']): string[] {
  const named = headers['anthropic-beta']?.split(',') ?? []
  return named.map((beta) => beta.trim()).filter((beta) => beta !== '' && !firstPartyBeta.test(beta))
}
