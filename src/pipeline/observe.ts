import { completionTokens } from '../call/usage.ts'
import type { Gateway } from '../gateway.ts'
import { savesByCaching } from '../routing/sticky.ts'
import type { Asked } from './asked.ts'
import type { Journey, Outcome } from './journey.ts'
import { conversationOf } from './route.ts'
import { areCallsValid } from './tool-calls.ts'

/** What a request that reached its end says about the endpoint it ended at. */
export function observe(gateway: Gateway, asked: Asked, journey: Journey, outcome: Outcome): void {
  const { candidate, isUnderWay } = journey
  if (!candidate || !isUnderWay) return
  journey.isUnderWay = false
  const health = gateway.routing.health.of(candidate.id)
  const now = gateway.clock.now()
  const { status, error, seen } = outcome
  if (status === 'completed') {
    health.succeeded(now, performanceOf(journey, outcome))
    stay(gateway, asked, journey, outcome)
    const areValid = seen && areCallsValid(asked.call.tools, seen)
    if (areValid !== null) health.toolCalls(now, areValid)
  } else if (
    status === 'failed' &&
    !candidate.endpoint.provider.failsOnRequest &&
    (error === null || error.code.startsWith('upstream_'))
  ) {
    health.failed(now, { kind: seen?.failure?.kind ?? 'provider_unavailable' })
  } else health.released()
}

/** It ended for a reason that is not the endpoint's: nothing is learnt of it. */
export function excuse({ routing }: Gateway, journey: Journey): void {
  if (journey.candidate && journey.isUnderWay) routing.health.of(journey.candidate.id).released()
  journey.isUnderWay = false
}

/** Without what the attempts before it took. */
function performanceOf({ startedAt, attemptAt }: Journey, { firstTokenMs, charge }: Outcome) {
  const endedAt = performance.now()
  const firstAt = firstTokenMs === null ? null : startedAt + firstTokenMs
  const seconds = Math.max(1, endedAt - (firstAt ?? attemptAt)) / 1000
  const tokens = completionTokens(charge.usage)
  return {
    firstTokenMs: (firstAt ?? endedAt) - attemptAt,
    tokensPerSecond: tokens > 0 ? tokens / seconds : null,
  }
}

/** The next turn goes to the same endpoint, where it finds what it has in common with this one in a cache. */
function stay({ routing, clock }: Gateway, asked: Asked, { candidate }: Journey, { charge }: Outcome): void {
  if (!candidate || !savesByCaching(candidate.endpoint)) return
  if (asked.wishes.sessionId === null && charge.usage.cacheRead === 0) return
  routing.sticky.remember(conversationOf(asked, candidate.model.id), candidate.id, clock.now())
}
