import type { WireRequest } from '../catalogue/provider.ts'

/** What the Messages format knows at its vendor's own address alone. */
export const firstPartyFields = ['tags']
const firstPartyBetaPattern = /^request-tags-/

/** The betas a client asked for, without those that a cloud would refuse. */
export function listKnownBetas(headers: WireRequest['headers']): string[] {
  const betas = headers['anthropic-beta']?.split(',') ?? []
  return betas.map((beta) => beta.trim()).filter((beta) => beta !== '' && !firstPartyBetaPattern.test(beta))
}
