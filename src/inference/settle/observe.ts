import { countCompletionTokens } from '../../formats/call/usage.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { computeStickyKey } from '../plan/plan.ts'
import { areToolCallsValid } from '../reply/tool-calls.ts'
import type { Outcome } from '../request/attempts.ts'
import type { RequestState } from '../request/inference-request.ts'
import { hasCacheDiscount } from '../routing/sticky.ts'

/** Updates the health of the endpoint that served a request. */
export function recordOutcome(gateway: Gateway, request: RequestState, outcome: Outcome): void {
  const { attempts } = request
  const { candidate } = attempts
  if (!candidate || !attempts.isOpen) return
  attempts.isOpen = false
  const health = gateway.routing.health.getOrCreate(candidate.id)
  const now = gateway.clock.now()
  const { status, error, summary } = outcome
  if (status === 'completed') {
    const hasRecovered = health.recordSuccess(now, measurePerformance(request, outcome))
    gateway.routing.sharing?.reportSuccess(candidate.id, hasRecovered)
    // Routes the next turn to the same endpoint, which has the common prefix in its prompt cache.
    const isConversation = request.options.sessionId !== null || outcome.charge.usage.cacheRead > 0
    if (isConversation && hasCacheDiscount(candidate.endpoint))
      gateway.routing.sticky.remember(computeStickyKey(request, candidate.model.id), candidate.id, now)
    if (summary?.toolCalls.length) {
      const areValid = areToolCallsValid(request.content.call.tools, summary)
      if (areValid !== null) health.recordToolCalls(now, areValid)
    }
  } else if (
    status === 'failed' &&
    !candidate.endpoint.provider.failsOnRequest &&
    (error === null || error.code.startsWith('upstream_'))
  ) {
    const kind = summary?.failure?.kind ?? 'provider_unavailable'
    const restriction = health.recordFailure(now, { kind })
    if (restriction) gateway.metrics.models.recordRestriction(candidate, request.format.task, restriction)
    gateway.routing.sharing?.reportFailure(candidate.id, health, kind)
  } else health.releaseTrial()
}

/** Ends an attempt without an outcome, for a request that ended for a reason unrelated to the endpoint. */
export function ignoreOutcome({ routing }: Gateway, { attempts }: RequestState): void {
  const { candidate, isOpen } = attempts
  if (candidate && isOpen) routing.health.getOrCreate(candidate.id).releaseTrial()
  attempts.isOpen = false
}

/** Measures the last attempt only. */
function measurePerformance(
  { startedAt, attempts: { lastStartedAt } }: RequestState,
  { firstTokenMs, charge }: Outcome,
) {
  const endedAt = performance.now()
  const firstAt = firstTokenMs === null ? null : startedAt + firstTokenMs
  const seconds = Math.max(1, endedAt - (firstAt ?? lastStartedAt)) / 1000
  const tokens = countCompletionTokens(charge.usage)
  return {
    firstTokenMs: (firstAt ?? endedAt) - lastStartedAt,
    tokensPerSecond: tokens > 0 ? tokens / seconds : null,
  }
}
