import type { HedgePolicy } from '../../catalog/attempt-policy.ts'
import type { ReplySummary } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import { timedOut } from '../../platform/time/coarse-timer.ts'
import type { Room } from '../rates/room.ts'
import type { Admitted, Routed } from '../request/inference-request.ts'
import type { Candidate } from '../routing/candidate.ts'
import { type Contender, holdHedge, type Outcome, releaseHedge, settleLoser } from './hedge-settlement.ts'

/** One attempt at a candidate. */
export interface NextAttempt<T> {
  candidate: Candidate
  translation: T
  isRetry: boolean
  /** What it occupies of the known rates of its endpoint; null if none are known. */
  room: Room | null
  /** Ends the attempt because another one has won. */
  canceled?: AbortSignal
}

/** How a request is sent to a candidate and, if that takes too long, to the next one. */
export interface Hedge<Q, T, R> {
  policy: HedgePolicy
  first: NextAttempt<T>
  /** The next candidate that may be tried, with the request encoded for it; null if there is none. */
  prepareNext(): Promise<NextAttempt<T> | null>
  /** Runs an attempt; null if it failed. */
  run(state: Q, attempt: NextAttempt<T>): Promise<Outcome<R>>
  /** What is known of a reply that has lost; reads it to its end if the provider bills it anyway. */
  abandon(value: R, isBilled: boolean): Promise<ReplySummary>
}

export interface HedgeResult<R> {
  reply: Outcome<R>
  /** The other candidate, if it was tried. */
  second: Candidate | null
}

/** Whether a request can be sent twice: nothing but its two attempts depends on which of them wins. */
export function isHedgeable<Q extends Routed>(request: Q): request is Q & Admitted {
  const { hold, work, funds, isNested, replyFilters, replyObservers, restoreReply, completeHits } = request
  if (hold === null || work !== null || funds !== null || isNested) return false
  if (restoreReply !== null) return false
  return replyFilters.length === 0 && replyObservers.length === 0 && completeHits === null
}

/**
 * Tries a candidate and, if it has no content after a time, also the next one: the first content wins, and what the
 * other one cost is on the bill.
 */
export async function tryHedged<Q extends Admitted, T, R>(
  gateway: Gateway,
  request: Q,
  hedge: Hedge<Q, T, R>,
): Promise<HedgeResult<R>> {
  const first = start(forkAttempts(request), hedge, hedge.first)
  // A client may disconnect before there is a winner.
  Object.assign(request.attempts, first.state.attempts)
  let served: Contender<R> = first
  try {
    const delayMs = computeDelay(gateway, request, hedge)
    if (delayMs === null || (await gateway.timer.wait(first.outcome, delayMs)) !== timedOut)
      return { reply: await first.outcome, second: null }
    const second = await startSecond(gateway, request, hedge, first)
    if (!second) return { reply: await first.outcome, second: null }
    served = (await findWinner([first, second])) ?? second
    const loser = served === first ? second : first
    gateway.metrics.recordHedge(served.hasFailed ? 'failed' : served === first ? 'lost' : 'won')
    if (served.hasFailed || loser.hasFailed) {
      // The shutdown of this process, for example, ends one attempt before the other.
      loser.cancel.abort()
      await releaseHedge(gateway, second.held)
    } else await settleLoser(gateway, request, { loser, held: second.held, served, abandon: hedge.abandon })
    return { reply: await served.outcome, second: second.candidate }
  } finally {
    adoptAttempts(request, served.state)
  }
}

type SecondContender<R> = Contender<R> & { held: Admitted }

/** Starts the second attempt if there is one that may be made. */
async function startSecond<Q extends Admitted, T, R>(
  gateway: Gateway,
  request: Q,
  hedge: Hedge<Q, T, R>,
  first: Contender<R>,
): Promise<SecondContender<R> | null> {
  const next = await hedge.prepareNext()
  if (!next) return null
  const second = await startNext(gateway, request, hedge, { first, next })
  if (!second && next.room) await next.room.release()
  return second
}

/** Starts an attempt once both are held; null if a limit does not allow it, or the first has ended. */
async function startNext<Q extends Admitted, T, R>(
  gateway: Gateway,
  request: Q,
  hedge: Hedge<Q, T, R>,
  { first, next }: { first: Contender<R>; next: NextAttempt<T> },
): Promise<SecondContender<R> | null> {
  const { upstreams, settings, metrics } = gateway
  if (!upstreams.hedges.tryOpen(upstreams.exchanges.size, settings.limits.hedged_share)) {
    metrics.recordHedge('capped')
    return null
  }
  const held = await holdHedge(gateway, request, [first.candidate, next.candidate]).catch(
    (error: unknown) => {
      upstreams.hedges.close()
      if (!(error instanceof GatewayError)) throw error
      metrics.recordHedge('refused')
      return null
    },
  )
  if (!held) return null
  if (first.hasEnded) {
    upstreams.hedges.close()
    await releaseHedge(gateway, held)
    return null
  }
  const second = start(forkAttempts(request), hedge, next)
  const close = () => upstreams.hedges.close()
  Promise.race([first.outcome, second.outcome]).then(close, close)
  return Object.assign(second, { held })
}

function start<Q extends Admitted, T, R>(
  state: Q,
  { run }: Hedge<Q, T, R>,
  attempt: NextAttempt<T>,
): Contender<R> {
  const cancel = new AbortController()
  const outcome = run(state, { ...attempt, canceled: cancel.signal })
  const { candidate } = attempt
  const startedAt = performance.now()
  const contender = { state, candidate, cancel, outcome, startedAt, hasEnded: false, hasFailed: false }
  const end = (reply: Outcome<R>) => Object.assign(contender, { hasEnded: true, hasFailed: reply === null })
  outcome.then(end, () => end(null))
  return contender
}

/** Milliseconds without content after which the next candidate is tried too; null if that is not known. */
function computeDelay<Q extends Admitted, T, R>(
  { routing, clock }: Gateway,
  { content }: Q,
  { policy: { afterMs, percentile }, first }: Hedge<Q, T, R>,
): number | null {
  // What is measured for a reply that is not streamed is the time to its end.
  if (percentile === null || !content.stream) return afterMs
  return routing.health.find(first.candidate.id)?.getSpeed(clock.now()).latency?.[percentile] ?? afterMs
}

/** The first that replies, or that ends the request, as the disconnect of its client does; null if both have failed. */
function findWinner<R>(contenders: readonly Contender<R>[]): Promise<Contender<R> | null> {
  return new Promise((resolve) => {
    let open = contenders.length
    for (const contender of contenders)
      contender.outcome.then(
        (reply) => {
          open -= 1
          if (reply) resolve(contender)
          else if (open === 0) resolve(null)
        },
        () => resolve(contender),
      )
  })
}

/** The state of an attempt that may lose. The failures of both are those of the request. */
function forkAttempts<Q extends Admitted>(request: Q): Q {
  return { ...request, attempts: { ...request.attempts } }
}

/** The attempt that counts is that of the request. */
function adoptAttempts(request: Admitted, served: Admitted): void {
  Object.assign(request.attempts, served.attempts)
  served.attempts = request.attempts
}
