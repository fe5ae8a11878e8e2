import type { UpstreamFailure } from '../../call/failure.ts'
import { type FailedAttempt, isPlainCode } from '../upstream/failure.ts'
import { redactAccounts } from '../upstream/redact-secrets.ts'
import type { Outcome, RequestTrace } from './trace.ts'

/** Enough for what a provider says, too little for the prompt it may quote. */
const maxMessageLength = 300

/** JSON array of the attempts that failed, as it is stored. */
export function encodeAttempts(attempts: readonly FailedAttempt[], requestStartedAt: number): string {
  if (attempts.length === 0) return '[]'
  return JSON.stringify(attempts.map((attempt) => toAttemptRecord(attempt, requestStartedAt)))
}

/** The same for a request that has ended, with the reply that broke off. */
export function encodeAllAttempts(
  { attempts, startedAt }: Pick<RequestTrace, 'attempts' | 'startedAt'>,
  { error, summary }: Pick<Outcome, 'error' | 'summary'>,
): string {
  const failure = findReplyFailure(attempts, error?.cause, summary?.failure ?? null)
  if (!failure) return encodeAttempts(attempts, startedAt)
  const records = attempts.map((attempt) => toAttemptRecord(attempt, startedAt))
  return JSON.stringify([...records, { ...describeFailure(failure), in_reply: true }])
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
function findReplyFailure(
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
