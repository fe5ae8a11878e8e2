import type { WireRequest } from '../provider.ts'

/** Fields of the Messages format that only its vendor's API supports. */
export const firstPartyFields = ['tags']
const firstPartyBetaPattern = /^request-tags-/

/** The betas that the client requested, without those that cloud providers reject. */
export function listKnownBetas(headers: WireRequest['headers']): string[] {
  const betas = headers['anthropic-beta']?.split(',') ?? []
  return betas.map((beta) => beta.trim()).filter((beta) => beta !== '' && !firstPartyBetaPattern.test(beta))
}
