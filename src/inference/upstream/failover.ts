import type { HedgePolicy } from '../../catalog/attempt-policy.ts'
import type { UpstreamFailure } from '../../formats/call/failure.ts'
import type { ReplySummary } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import { logOf } from '../../platform/logging/request-log.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import { traceHeader } from '../../platform/tracing/trace-parent.ts'
import { ClientDisconnectedError, timeoutError, UpstreamError } from '../failures/errors.ts'
import { isPlainCode, isRequestFault, toClientError, toFailedAttempt } from '../failures/failure.ts'
import { rateLimitedError } from '../plan/plan.ts'
import { failedUse } from '../rates/rate-use.ts'
import type { Room } from '../rates/room.ts'
import type { AttemptedTranslation } from '../request/attempts.ts'
import type { Admitted, RequestState, Routed } from '../request/inference-request.ts'
import type { Candidate } from '../routing/candidate.ts'
import { acceptAttempt, beginAttempt, failAttempt } from './attempt-span.ts'
import { enterEndpoint, isRated, reenterEndpoint, tryEnterEndpoint } from './enter-endpoint.ts'
import { UpstreamExchange } from './exchange.ts'
import { fallBack } from './fall-back.ts'
import { type HedgeResult, isHedgeable, type NextAttempt, tryHedged } from './hedge.ts'
import { maxAttempts, shouldRetry } from './retry.ts'
import { limitTime } from './time-limits.ts'

/** The functions that send one kind of request to a candidate. */
export interface AttemptStages<Q, T extends AttemptedTranslation, R> {
  /** Encodes a request. Throws one of `candidateErrors` if another endpoint may be able to serve the request. */
  translate(gateway: Gateway, request: Q, candidate: Candidate): T
  /** Resolves with a whole reply, or when a streamed one has begun. `state` is that of the attempt. */
  execute(exchange: UpstreamExchange, candidate: Candidate, translation: T, state: Q): Promise<R>
  /** For requests that may be sent to two candidates at once: see `Hedge`. */
  abandon?(value: R, isBilled: boolean): Promise<ReplySummary>
}

/**
 * Tries the candidates of a plan in order until one has replied, or begun to; the client sees nothing of a failed attempt.
 * A request that is itself at fault is not tried at other endpoints of the same model.
 */
export async function withFailover<Q extends Routed, T extends AttemptedTranslation, R>(
  gateway: Gateway,
  request: Q,
  stages: AttemptStages<NoInfer<Q>, T, R>,
): Promise<R> {
  const { failed } = request.attempts
  const { total } = gateway.settings.limits
  const timeLimitMs = Math.min(request.timeLimitMs ?? total, total)
  let encodingError: GatewayError | null = null
  let hedgedWith: Candidate | null = null
  for (let index = 0; failed.length < maxAttempts; index++) {
    // A failure may add the candidates of another model.
    const candidate: Candidate | null =
      request.plan.candidates[index] ?? (await fallBack(gateway, request, encodingError))
    if (!candidate) break
    if (performance.now() - request.startedAt > timeLimitMs) throw timeLimitError(candidate, request)
    if (candidate === hedgedWith || !shouldTry(gateway, request, candidate)) continue
    if (request.content.received.isLarge) await yieldToEventLoop()
    const translation: T | GatewayError = tryTranslate(gateway, request, stages, candidate)
    if (request.content.received.isLarge) await yieldToEventLoop()
    if (translation instanceof GatewayError) {
      encodingError ??= translation
      continue
    }
    let room: Room | null = null
    if (candidate.endpoint.rates || gateway.upstreams.rates.learned.has(candidate.id)) {
      room = await enterEndpoint(gateway, request, index, (other) => shouldTry(gateway, request, other))
      if (!room) {
        index -= 1
        continue
      }
    }
    const first: NextAttempt<T> = { candidate, translation, isRetry: false, room }
    const policy: HedgePolicy | false | null | undefined =
      request.options.attempts?.hedge ?? candidate.endpoint.attempts?.hedge
    let reply: { value: R } | null
    if (policy && stages.abandon && !hedgedWith && isHedgeable(request)) {
      const hedge: HedgedAttempt<T, R> = { policy, first, index, abandon: stages.abandon }
      const hedged: HedgeResult<R> = await attemptHedged(gateway, request, stages, hedge)
      reply = hedged.reply
      hedgedWith = hedged.second
    } else reply = await tryCandidate(gateway, request, stages, first)
    for (let retries = 0; !reply && !hedgedWith; retries++) {
      if (!(await shouldRetry(gateway, request, candidate, retries))) break
      const again = room && (await reenterEndpoint(gateway, request, candidate))
      reply = await tryCandidate(gateway, request, stages, { ...first, isRetry: true, room: again })
    }
    if (reply) return reply.value
  }
  if (failed.length > 0) throw toClientError(failed)
  if (encodingError) throw encodingError
  throw rateLimitedError(
    gateway,
    request.options.models,
    request.plan.candidates.map(({ id }) => id),
  )
}

/** The time for all attempts has passed: the last of them failed, or none could be made. */
function timeLimitError(candidate: Candidate, { attempts: { failed }, startedAt }: Routed): GatewayError {
  return toClientError(
    failed.length > 0 ? failed : [toFailedAttempt(candidate, timeoutError().failure, startedAt, false)],
  )
}

/** Errors that another candidate may not cause: of strict mode, and of a deployment for another kind of request. */
const candidateErrors: ReadonlySet<string> = new Set(['loss_refused', 'no_provider'])

function tryTranslate<Q, T extends AttemptedTranslation>(
  gateway: Gateway,
  request: Q,
  stages: Pick<AttemptStages<Q, T, unknown>, 'translate'>,
  candidate: Candidate,
): T | GatewayError {
  try {
    return stages.translate(gateway, request, candidate)
  } catch (error) {
    if (error instanceof GatewayError && candidateErrors.has(error.code)) return error
    throw error
  }
}

interface HedgedAttempt<T, R> {
  policy: HedgePolicy
  first: NextAttempt<T>
  index: number
  abandon: NonNullable<AttemptStages<never, AttemptedTranslation, R>['abandon']>
}

/** Tries a candidate, and the next one too if the first takes too long. */
function attemptHedged<Q extends Admitted, T extends AttemptedTranslation, R>(
  gateway: Gateway,
  request: Q,
  stages: AttemptStages<NoInfer<Q>, T, R>,
  { policy, first, index, abandon }: HedgedAttempt<T, R>,
): Promise<HedgeResult<R>> {
  const prepareNext = () => prepareAttempt(gateway, request, stages, index + 1)
  const run = (state: Q, attempt: NextAttempt<T>) => tryCandidate(gateway, state, stages, attempt)
  return tryHedged<Q, T, R>(gateway, request, { policy, first, prepareNext, run, abandon })
}

/** The first candidate from an index that may be tried now, with the request encoded for it; null if there is none. */
async function prepareAttempt<Q extends Routed, T extends AttemptedTranslation>(
  gateway: Gateway,
  request: Q,
  stages: Pick<AttemptStages<Q, T, unknown>, 'translate'>,
  from: number,
): Promise<NextAttempt<T> | null> {
  for (const candidate of request.plan.candidates.slice(from)) {
    if (!shouldTry(gateway, request, candidate)) continue
    const translation = tryTranslate(gateway, request, stages, candidate)
    if (translation instanceof GatewayError) continue
    const rated = isRated(gateway, candidate)
    const room = rated ? await tryEnterEndpoint(gateway, request, candidate) : null
    if (room || !rated) return { candidate, translation, isRetry: false, room }
  }
  return null
}

/** Tries a candidate; null if the attempt failed and another may follow. */
async function tryCandidate<Q extends RequestState, T extends AttemptedTranslation, R>(
  gateway: Gateway,
  request: Q,
  stages: Pick<AttemptStages<Q, T, R>, 'execute'>,
  { candidate, translation, isRetry, canceled, room }: NextAttempt<T>,
): Promise<{ value: R } | null> {
  const { attempts, httpRequest } = request
  if (httpRequest.signal.aborted) {
    if (room) await room.release()
    throw new ClientDisconnectedError()
  }
  attempts.candidate = candidate
  attempts.translation = translation
  attempts.lastStartedAt = performance.now()
  attempts.isOpen = true
  attempts.room = room
  const health = gateway.routing.health.getOrCreate(candidate.id)
  health.recordStart(gateway.clock.now(), isRetry)
  const exchange = new UpstreamExchange(httpRequest.signal, gateway)
  exchange.candidateId = candidate.id
  exchange.room = room
  if (candidate.endpoint.attempts || request.timeLimitMs !== null || request.options.attempts)
    limitTime(gateway, request, candidate, exchange)
  if (canceled) exchange.abortWith(canceled)
  if (request.spans || httpRequest.headers.has(traceHeader))
    beginAttempt(request, candidate, translation, exchange)
  try {
    const value = await stages.execute(exchange, candidate, translation, request)
    if (request.spans) acceptAttempt(request, exchange)
    if (room) room.observe()
    return { value }
  } catch (error) {
    exchange.abort()
    if (room) room.observe()
    if (canceled?.aborted || !(error instanceof UpstreamError)) throw error
    attempts.isOpen = false
    if (room) await room.settle(failedUse)
    const failure = capRetryAfter(gateway, error.failure)
    if (candidate.endpoint.provider.failsOnRequest || exchange.isRequestedTimeout(failure))
      health.releaseTrial()
    else {
      const restriction = health.recordFailure(gateway.clock.now(), failure)
      if (restriction) gateway.metrics.models.recordRestriction(candidate, request.format.task, restriction)
      gateway.routing.sharing?.reportFailure(candidate.id, health, failure.kind)
    }
    attempts.failed.push(
      toFailedAttempt(candidate, failure, attempts.lastStartedAt, translation.isPassThrough),
    )
    failAttempt(attempts, failure)
    logFailure(gateway, request, candidate, error)
    return null
  }
}

/** A wrong `Retry-After` of hours must not block a provider for that long. */
function capRetryAfter({ settings }: Gateway, failure: UpstreamFailure): UpstreamFailure {
  const { cooldown } = settings.limits
  const { retryAfterMs } = failure
  if (retryAfterMs === undefined || retryAfterMs <= cooldown) return failure
  return { ...failure, retryAfterMs: cooldown, isRetryAfterCut: true }
}

/**
 * Whether a candidate is still usable: other requests may have hit a rate limit or ejected an endpoint since the plan
 * was made.
 */
function shouldTry({ routing, clock }: Gateway, request: Routed, candidate: Candidate): boolean {
  const { candidates } = request.plan
  const last = request.attempts.failed.at(-1)
  if (last && isRequestFault(last.failure) && last.model === candidate.model.id) return false
  const now = clock.now()
  const health = routing.health.find(candidate.id)
  if (health?.isCoolingDown(now)) return false
  if (candidate.why === 'ejected' || !health?.isEjected(now)) return true
  return candidates.slice(candidates.indexOf(candidate) + 1).every(({ id }) => {
    const other = routing.health.find(id)
    return other !== null && (other.isCoolingDown(now) || other.isEjected(now))
  })
}

/** Logs a failure without the provider's message, which may quote the prompt. */
function logFailure(
  gateway: Gateway,
  request: RequestState,
  { endpoint, model }: Candidate,
  { failure, cause }: UpstreamError,
): void {
  const { kind, status } = failure
  const code = isPlainCode(failure.code) ? failure.code : undefined
  logOf(gateway, request).warn(
    { endpoint: endpoint.tag, model: model.id, kind, status, code, err: cause },
    'attempt failed',
  )
}
