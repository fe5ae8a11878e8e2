import { describeFailureKind, type UpstreamFailure } from '../../formats/call/failure.ts'
import { type FailedAttempt, isPlainCode } from '../failures/failure.ts'
import { redactAccounts } from '../failures/redact-secrets.ts'
import type { ModelRequest } from '../request/inference-request.ts'
import { forbidsRetention } from '../request/retention.ts'
import type { Outcome, RequestTrace } from './trace.ts'

/** Enough for what a provider says. */
const maxMessageLength = 300

type StoredRequest = Pick<ModelRequest, 'logsContent' | 'keyContext' | 'options'>
type Attempts = Pick<RequestTrace, 'attempts' | 'startedAt'>

/** JSON array of the attempts that failed, as it is stored. */
export function encodeAttempts(request: StoredRequest, { attempts, startedAt }: Attempts): string {
  if (attempts.length === 0) return '[]'
  const describe = selectDescription(request)
  return JSON.stringify(attempts.map((attempt) => toAttemptRecord(attempt, startedAt, describe)))
}

/** The same for a request that has ended, with the reply that broke off. */
export function encodeAllAttempts(
  request: StoredRequest,
  trace: Attempts,
  { error, summary }: Pick<Outcome, 'error' | 'summary'>,
): string {
  const { attempts, startedAt } = trace
  if (attempts.length === 0 && !error && !summary?.failure) return '[]'
  const failure = findReplyFailure(attempts, error?.cause, summary?.failure ?? null)
  if (!failure) return encodeAttempts(request, trace)
  const describe = selectDescription(request)
  const records = attempts.map((attempt) => toAttemptRecord(attempt, startedAt, describe))
  return JSON.stringify([...records, { ...describeFailure(failure, describe), in_reply: true }])
}

type Description = (failure: UpstreamFailure) => string

/** The message of a provider may quote the prompt: it is stored only where the prompt may be. */
function selectDescription(request: StoredRequest): Description {
  return request.logsContent && !forbidsRetention(request)
    ? quoteMessage
    : ({ kind }) => describeFailureKind(kind)
}

function quoteMessage({ message }: UpstreamFailure): string {
  return redactAccounts(message.slice(0, 4 * maxMessageLength)).slice(0, maxMessageLength)
}

/** Times in milliseconds: `at` since the request arrived. */
function toAttemptRecord(
  { provider, endpoint, model, byokKeyId, failure, startedAt, endedAt }: FailedAttempt,
  requestStartedAt: number,
  describe: Description,
) {
  return {
    provider,
    endpoint,
    model,
    ...describeFailure(failure, describe),
    ...(byokKeyId !== null && { own_key: true }),
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
