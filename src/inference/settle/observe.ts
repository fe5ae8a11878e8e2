import { countCompletionTokens } from '../../formats/call/usage.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { computeStickyKey } from '../plan/plan.ts'
import { areToolCallsValid } from '../reply/tool-calls.ts'
import type { ModelRequest } from '../request/inference-request.ts'
import { hasCacheDiscount } from '../routing/sticky.ts'
import type { Outcome, RequestTrace } from './trace.ts'

/** Updates the health of the endpoint that served a request. */
export function recordOutcome(
  gateway: Gateway,
  request: ModelRequest,
  trace: RequestTrace,
  outcome: Outcome,
): void {
  const { candidate, isOpen } = trace
  if (!candidate || !isOpen) return
  trace.isOpen = false
  const health = gateway.routing.health.getOrCreate(candidate.id)
  const now = gateway.clock.now()
  const { status, error, summary } = outcome
  if (status === 'completed') {
    health.recordSuccess(now, measurePerformance(trace, outcome))
    rememberSticky(gateway, request, trace, outcome)
    if (summary?.toolCalls.length) {
      const areValid = areToolCallsValid(request.content.call.tools, summary)
      if (areValid !== null) health.recordToolCalls(now, areValid)
    }
  } else if (
    status === 'failed' &&
    !candidate.endpoint.provider.failsOnRequest &&
    (error === null || error.code.startsWith('upstream_'))
  ) {
    health.recordFailure(now, { kind: summary?.failure?.kind ?? 'provider_unavailable' })
  } else health.releaseTrial()
}

/** For a request that ended for a reason unrelated to the endpoint. */
export function ignoreOutcome({ routing }: Gateway, trace: RequestTrace): void {
  if (trace.candidate && trace.isOpen) routing.health.getOrCreate(trace.candidate.id).releaseTrial()
  trace.isOpen = false
}

/** Of the last attempt only. */
function measurePerformance(
  { startedAt, attemptStartedAt }: RequestTrace,
  { firstTokenMs, charge }: Outcome,
) {
  const endedAt = performance.now()
  const firstAt = firstTokenMs === null ? null : startedAt + firstTokenMs
  const seconds = Math.max(1, endedAt - (firstAt ?? attemptStartedAt)) / 1000
  const tokens = countCompletionTokens(charge.usage)
  return {
    firstTokenMs: (firstAt ?? endedAt) - attemptStartedAt,
    tokensPerSecond: tokens > 0 ? tokens / seconds : null,
  }
}

/** Routes the next turn to the same endpoint, which has the common prefix in its prompt cache. */
function rememberSticky(
  { routing, clock }: Gateway,
  request: ModelRequest,
  { candidate }: RequestTrace,
  { charge }: Outcome,
): void {
  if (!candidate || !hasCacheDiscount(candidate.endpoint)) return
  if (request.options.sessionId === null && charge.usage.cacheRead === 0) return
  routing.sticky.remember(computeStickyKey(request, candidate.model.id), candidate.id, clock.now())
}
