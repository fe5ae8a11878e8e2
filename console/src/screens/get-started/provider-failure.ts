import type { ApiError } from '../../api/error.ts'

/** What a request without an answer of the provider means. */
export function describeError(error: ApiError): string {
  return error.metadata.reason === 'upstream_failed'
    ? 'The provider could not be reached. Check that this server may open connections to it.'
    : error.message
}

/** What the status of the provider means for somebody who has just entered a key. */
export function describeStatus(status: number): string {
  if (status === 401 || status === 403)
    return `The provider refused the key (${status}). Check that it is complete, active and allowed to use the model.`
  if (status === 402) return 'The provider accepted the key, but the account has no credit (402).'
  if (status === 404) return 'The provider accepted the key, but does not offer the model to it (404).'
  if (status === 408) return 'The provider did not answer in time. Try again.'
  if (status === 429) return 'The provider accepted the key, but its rate limit or quota is reached (429).'
  if (status >= 500) return `The provider failed (${status}). Try again later; the key may be right.`
  return `The provider accepted the key, but refused the request (${status}).`
}
