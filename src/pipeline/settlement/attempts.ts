import type { FailedAttempt } from '../upstream/failure.ts'

/** JSON array of the attempts that failed, as it is stored. */
export function encodeAttempts(attempts: FailedAttempt[], requestStartedAt: number): string {
  if (attempts.length === 0) return '[]'
  return JSON.stringify(attempts.map((attempt) => toAttemptRecord(attempt, requestStartedAt)))
}

/** Times in milliseconds: `at` since the request arrived. */
function toAttemptRecord(
  { provider, endpoint, model, failure, startedAt, endedAt }: FailedAttempt,
  requestStartedAt: number,
) {
  return {
    provider,
    endpoint,
    model,
    code: failure.kind,
    status: failure.status,
    at: Math.round(startedAt - requestStartedAt),
    ms: Math.round(endedAt - startedAt),
  }
}
