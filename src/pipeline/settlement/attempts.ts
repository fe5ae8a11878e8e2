import type { UpstreamFailure } from '../../call/failure.ts'
import { type FailedAttempt, isPlainCode } from '../upstream/failure.ts'
import { redactAccounts } from '../upstream/redact-secrets.ts'

/** Enough for what a provider says, too little for the prompt it may quote. */
const maxMessageLength = 300

/** JSON array of the attempts that failed, and of the reply that broke off, as it is stored. */
export function encodeAttempts(
  attempts: readonly FailedAttempt[],
  requestStartedAt: number,
  replyFailure: UpstreamFailure | null = null,
): string {
  if (attempts.length === 0 && !replyFailure) return '[]'
  const records: object[] = attempts.map((attempt) => toAttemptRecord(attempt, requestStartedAt))
  if (replyFailure) records.push({ ...describeFailure(replyFailure), in_reply: true })
  return JSON.stringify(records)
}

/** Times in milliseconds: `at` since the request arrived. */
function toAttemptRecord(
  { provider, endpoint, model, byokKeyId, failure, startedAt, endedAt }: FailedAttempt,
  requestStartedAt: number,
) {
  return {
    provider,
    endpoint,
    model,
    ...describeFailure(failure),
    ...(byokKeyId !== null && { own_key: true }),
    at: Math.round(startedAt - requestStartedAt),
    ms: Math.round(endedAt - startedAt),
  }
}

function describeFailure({ kind, status, code, message }: UpstreamFailure) {
  const text = redactAccounts(message.slice(0, 4 * maxMessageLength)).slice(0, maxMessageLength)
  return {
    code: kind,
    status,
    ...(isPlainCode(code) && { provider_code: code }),
    ...(text !== '' && { message: text }),
  }
}

/** How the reply of the last attempt failed; null if it did not, or if no reply had begun. */
export function findReplyFailure(
  attempts: readonly FailedAttempt[],
  cause: unknown,
  inReply: UpstreamFailure | null,
): UpstreamFailure | null {
  const failure = isUpstreamFailure(cause) ? cause : inReply
  return attempts.some((attempt) => attempt.failure === failure) ? null : failure
}

function isUpstreamFailure(cause: unknown): cause is UpstreamFailure {
  return typeof cause === 'object' && cause !== null && 'kind' in cause && 'status' in cause
}
