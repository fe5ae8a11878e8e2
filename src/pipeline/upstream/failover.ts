import type { Gateway } from '../../app/gateway.ts'
import type { UpstreamFailure } from '../../call/failure.ts'
import type { ReplyContext } from '../../dialects/dialect.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import { yieldToEventLoop } from '../../lib/time-slicer.ts'
import type { Candidate } from '../../routing/candidate.ts'
import { Transcript } from '../reply/transcript.ts'
import { ReplyPipeline } from '../reply/transforms.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import { buildMetadata } from '../routing/metadata.ts'
import { type RoutingPlan, rateLimitedError } from '../routing/plan.ts'
import type { AcceptedAttempt, Attempt, RequestTrace } from '../settlement/trace.ts'
import { ClientDisconnectedError, UpstreamError } from './errors.ts'
import { UpstreamExchange } from './exchange.ts'
import { isPlainCode, isRequestFault, toClientError, toFailedAttempt } from './failure.ts'
import { type Translation, translate } from './translate.ts'

type AttemptFn<R> = (exchange: UpstreamExchange, attempt: Attempt) => Promise<R>

/**
 * Tries the candidates of a plan in order until one has begun to reply; the client sees nothing of a failed attempt.
 * A request that is itself at fault is not tried at other endpoints of the same model.
 */
export async function withFailover<R>(
  gateway: Gateway,
  request: InferenceRequest,
  plan: RoutingPlan,
  trace: RequestTrace,
  execute: AttemptFn<R>,
): Promise<AcceptedAttempt<R>> {
  const { candidates } = plan
  let lossError: GatewayError | null = null
  for (const [index, candidate] of candidates.entries()) {
    if (isExhausted(gateway, trace)) break
    if (!shouldTry(gateway, candidates, index, trace)) continue
    if (request.content.received.isLarge) await yieldToEventLoop()
    const translation = tryTranslate(gateway, request, candidate)
    if (request.content.received.isLarge) await yieldToEventLoop()
    if (translation instanceof GatewayError) {
      lossError ??= translation
      continue
    }
    const attempt = await tryCandidate(gateway, request, candidate, translation, trace, execute, false)
    if (attempt) return attempt
    const isLast = candidate === candidates.at(-1)
    if (!isLast || !shouldRetry(gateway, request, candidate, trace)) continue
    const retry = await tryCandidate(gateway, request, candidate, translation, trace, execute, true)
    if (retry) return retry
  }
  if (trace.attempts.length > 0) throw toClientError(trace.attempts)
  if (lossError) throw lossError
  throw rateLimitedError(
    gateway,
    request.options.models,
    candidates.map(({ id }) => id),
  )
}

/** Returns the error if a strict request would lose fields at this endpoint: another may support them. */
function tryTranslate(
  gateway: Gateway,
  request: InferenceRequest,
  candidate: Candidate,
): Translation | GatewayError {
  try {
    return translate(gateway, request, candidate)
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'loss_refused') return error
    throw error
  }
}

/** Null if the attempt failed and another may follow. */
async function tryCandidate<R>(
  gateway: Gateway,
  request: InferenceRequest,
  candidate: Candidate,
  translation: Translation,
  trace: RequestTrace,
  execute: AttemptFn<R>,
  isRetry: boolean,
): Promise<AcceptedAttempt<R> | null> {
  if (request.httpRequest.signal.aborted) throw new ClientDisconnectedError()
  const transcript = request.logsContent ? new Transcript() : null
  const attempt = {
    candidate,
    translation,
    context: buildReplyContext(request, candidate, trace),
    pipeline: createPipeline(request, transcript),
  }
  const now = performance.now()
  Object.assign(trace, { candidate, translation, transcript, attemptStartedAt: now, isOpen: true })
  const health = gateway.routing.health.getOrCreate(candidate.id)
  health.recordStart(gateway.clock.now(), isRetry)
  const exchange = new UpstreamExchange(request.httpRequest.signal, gateway.exchanges)
  try {
    const reply = await execute(exchange, attempt)
    return { ...attempt, reply }
  } catch (error) {
    exchange.abort()
    if (!(error instanceof UpstreamError)) throw error
    trace.isOpen = false
    const failure = capRetryAfter(gateway, error.failure)
    if (candidate.endpoint.provider.failsOnRequest) health.releaseTrial()
    else health.recordFailure(gateway.clock.now(), failure)
    trace.attempts.push(
      toFailedAttempt(candidate, failure, trace.attemptStartedAt, translation.isPassThrough),
    )
    logFailure(gateway, candidate, error)
    return null
  }
}

function createPipeline(
  { replyTransforms, replyObservers }: InferenceRequest,
  transcript: Transcript | null,
): ReplyPipeline {
  const observers = replyObservers.map((create) => create())
  return new ReplyPipeline(
    replyTransforms.map((create) => create()),
    transcript ? [transcript, ...observers] : observers,
  )
}

/** A wrong `Retry-After` of hours must not block a provider for that long. */
function capRetryAfter({ settings }: Gateway, failure: UpstreamFailure): UpstreamFailure {
  const { cooldown } = settings.limits
  const { retryAfterMs } = failure
  if (retryAfterMs === undefined || retryAfterMs <= cooldown) return failure
  return { ...failure, retryAfterMs: cooldown, isRetryAfterCut: true }
}

/** BYOK keys can make a plan of any length. */
const maxAttempts = 20

function isExhausted({ settings }: Gateway, { attempts, startedAt }: RequestTrace): boolean {
  return attempts.length >= maxAttempts || performance.now() - startedAt > settings.limits.total
}

/** Health may have changed since the plan was made: other requests may have hit a rate limit or ejected an endpoint. */
function shouldTry(
  { routing, clock }: Gateway,
  candidates: readonly Candidate[],
  index: number,
  { attempts }: RequestTrace,
): boolean {
  const candidate = candidates[index]
  if (!candidate) return false
  const last = attempts.at(-1)
  if (last && isRequestFault(last.failure) && last.model === candidate.model.id) return false
  const now = clock.now()
  const isCoolingDown = ({ id }: Candidate) => routing.health.find(id)?.isCoolingDown(now) ?? false
  const isEjected = ({ id }: Candidate) => routing.health.find(id)?.isEjected(now) ?? false
  if (isCoolingDown(candidate)) return false
  if (candidate.why === 'ejected' || !isEjected(candidate)) return true
  return candidates.slice(index + 1).every((other) => isCoolingDown(other) || isEjected(other))
}

/** With these the provider has not processed the request. After a broken connection that is unknown. */
const retryableStatuses: ReadonlySet<number | null> = new Set([502, 503, 529])

/** The last candidate is retried once, unless it sent `Retry-After` or its retry budget is used up. */
function shouldRetry(
  { routing }: Gateway,
  request: InferenceRequest,
  { id }: Candidate,
  { attempts }: RequestTrace,
): boolean {
  const failure = attempts.at(-1)?.failure
  if (!failure || !retryableStatuses.has(failure.status) || failure.retryAfterMs !== undefined) return false
  return (
    request.options.preferences.allow_fallbacks !== false &&
    routing.health.getOrCreate(id).consumeRetryBudget()
  )
}

/** Without the provider's message, which may quote the prompt. */
function logFailure(
  gateway: Gateway,
  { endpoint, model }: Candidate,
  { failure, cause }: UpstreamError,
): void {
  const { kind, status } = failure
  const code = isPlainCode(failure.code) ? failure.code : undefined
  gateway.log.warn(
    { endpoint: endpoint.tag, model: model.id, kind, status, code, err: cause },
    'attempt failed',
  )
}

function buildReplyContext(
  request: InferenceRequest,
  { model, endpoint }: Candidate,
  trace: RequestTrace,
): ReplyContext {
  return {
    id: request.id,
    created: Math.floor(request.at / 1000),
    model: model.id,
    provider: endpoint.provider.name,
    tier: endpoint.service_tier,
    call: request.content.call,
    body: request.content.body,
    elapsedMs: () => performance.now() - request.startedAt,
    formatNames: request.options.reasoningFormatNames,
    ...(request.options.wantsMetadata && { explain: () => buildMetadata(request, trace) }),
  }
}
