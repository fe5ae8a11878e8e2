import { describeFailureKind, type UpstreamFailure } from '../../formats/call/failure.ts'
import { type FailedAttempt, isPlainCode } from '../failures/failure.ts'
import { redactAccounts } from '../failures/redact-secrets.ts'
import type { Attempts, Outcome } from '../request/attempts.ts'
import type { RequestState } from '../request/inference-request.ts'
import { forbidsRetention } from '../request/retention.ts'

/** Characters of a provider's message. */
const maxMessageLength = 300

type AttemptedRequest = Pick<RequestState, 'logsContent' | 'keyContext' | 'options' | 'startedAt'> & {
  attempts: Pick<Attempts, 'failed'>
}

/** JSON array of the attempts that failed, as it is stored. */
export function encodeAttempts(request: AttemptedRequest): string {
  const { attempts, startedAt } = request
  if (attempts.failed.length === 0) return '[]'
  const describe = selectDescription(request)
  return JSON.stringify(attempts.failed.map((attempt) => toAttemptRecord(attempt, startedAt, describe)))
}

/** The same for a request that has ended, with the reply that broke off. */
export function encodeAllAttempts(
  request: AttemptedRequest,
  { error, summary }: Pick<Outcome, 'error' | 'summary'>,
): string {
  const { startedAt } = request
  const { failed } = request.attempts
  const failure = findReplyFailure(failed, error?.cause, summary?.failure ?? null)
  if (!failure) return encodeAttempts(request)
  const describe = selectDescription(request)
  const records = failed.map((attempt) => toAttemptRecord(attempt, startedAt, describe))
  return JSON.stringify([...records, { ...describeFailure(failure, describe), in_reply: true }])
}

type Description = (failure: UpstreamFailure) => string

/** The message of a provider may quote the prompt: it is stored only where the prompt may be. */
function selectDescription(request: AttemptedRequest): Description {
  return request.logsContent && !forbidsRetention(request)
    ? quoteMessage
    : ({ kind }) => describeFailureKind(kind)
}

function quoteMessage({ message }: UpstreamFailure): string {
  return redactAccounts(message.slice(0, 4 * maxMessageLength)).slice(0, maxMessageLength)
}

/** Times in milliseconds: `at` since the request arrived. */
function toAttemptRecord(
  { provider, endpoint, model, byokKeyId, failure, startedAt, endedAt, fallback }: FailedAttempt,
  requestStartedAt: number,
  describe: Description,
) {
  return {
    provider,
    endpoint,
    model,
    ...describeFailure(failure, describe),
    ...(byokKeyId !== null && { own_key: true }),
    ...(fallback && { fallback }),
    at: Math.round(startedAt - requestStartedAt),
    ms: Math.round(endedAt - startedAt),
  }
}

function describeFailure(failure: UpstreamFailure, describe: Description) {
  const { kind, status, code } = failure
  const text = describe(failure)
  return {
    code: kind,
    status,
    ...(isPlainCode(code) && { provider_code: code }),
    ...(text !== '' && { message: text }),
  }
}

/** Finds the failure of the last attempt after its reply began; null if there is none. */
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
