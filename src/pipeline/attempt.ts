import type { UpstreamFailure } from '../call/failure.ts'
import type { ReplyFacts } from '../dialects/dialect.ts'
import { GatewayError } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import { nextTurn } from '../lib/turns.ts'
import type { Candidate } from '../routing/candidate.ts'
import { type Asked, isLarge } from './asked.ts'
import { failedAttempt, isPlainCode, isRequestFault, toClientError } from './failure.ts'
import type { Journey, Taken } from './journey.ts'
import { metadataOf } from './metadata.ts'
import { type Plan, toldToWait } from './route.ts'
import { Transcript } from './transcript.ts'
import { type Translation, translate } from './translate.ts'
import { Exchange } from './upstream.ts'
import { ClientGoneError, UpstreamError } from './upstream-error.ts'

type Attempt<R> = (exchange: Exchange, taken: Omit<Taken<R>, 'reply'>) => Promise<R>

/**
 * Tries the endpoints of a plan in turn, until one has begun to answer. Nothing of a failed attempt was
 * seen by the client. What is the request's own fault is not tried on other endpoints of the model.
 */
export async function attemptEach<R>(
  gateway: Gateway,
  asked: Asked,
  plan: Plan,
  journey: Journey,
  attempt: Attempt<R>,
): Promise<Taken<R>> {
  const { candidates } = plan
  let loss: GatewayError | null = null
  for (const [place, candidate] of candidates.entries()) {
    if (isEnough(gateway, journey)) break
    if (!isWorthTrying(gateway, candidates, place, journey)) continue
    if (isLarge(asked.source)) await nextTurn()
    const translation = translated(gateway, asked, candidate)
    if (isLarge(asked.source)) await nextTurn()
    if (translation instanceof GatewayError) {
      loss ??= translation
      continue
    }
    const taken = await tryAt(gateway, asked, candidate, translation, journey, attempt, false)
    if (taken) return taken
    const isLast = candidate === candidates.at(-1)
    if (!isLast || !mayTryAgain(gateway, asked, candidate, journey)) continue
    const second = await tryAt(gateway, asked, candidate, translation, journey, attempt, true)
    if (second) return second
  }
  if (journey.attempts.length > 0) throw toClientError(journey.attempts)
  if (loss) throw loss
  throw toldToWait(
    gateway,
    asked.wishes.models,
    candidates.map(({ id }) => id),
  )
}

/** The error where an endpoint cannot be told everything and the client wants no less: another may be. */
function translated(gateway: Gateway, asked: Asked, candidate: Candidate): Translation | GatewayError {
  try {
    return translate(gateway, asked, candidate)
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'loss_refused') return error
    throw error
  }
}

/** Null when the endpoint failed without the client having seen anything of it. */
async function tryAt<R>(
  gateway: Gateway,
  asked: Asked,
  candidate: Candidate,
  translation: Translation,
  journey: Journey,
  attempt: Attempt<R>,
  isRetry: boolean,
): Promise<Taken<R> | null> {
  if (asked.request.signal.aborted) throw new ClientGoneError()
  const taken = {
    candidate,
    translation,
    facts: factsOf(asked, candidate, journey),
    transcript: asked.keepsContent ? new Transcript() : null,
  }
  const { transcript } = taken
  const now = performance.now()
  Object.assign(journey, { candidate, translation, transcript, attemptAt: now, isUnderWay: true })
  const health = gateway.routing.health.of(candidate.id)
  health.began(gateway.clock.now(), isRetry)
  const exchange = new Exchange(asked.request.signal, gateway.exchanges)
  try {
    const reply = await attempt(exchange, taken)
    return { ...taken, reply }
  } catch (error) {
    exchange.abort()
    if (!(error instanceof UpstreamError)) throw error
    journey.isUnderWay = false
    const failure = withBoundedWait(gateway, error.failure)
    if (candidate.endpoint.provider.failsOnRequest) health.released()
    else health.failed(gateway.clock.now(), failure)
    journey.attempts.push(failedAttempt(candidate, failure, journey.attemptAt, translation.passes))
    logFailure(gateway, candidate, error)
    return null
  }
}

/** A provider that asks for hours may be back in minutes, and a wrong hint must not cost it that long. */
function withBoundedWait({ settings }: Gateway, failure: UpstreamFailure): UpstreamFailure {
  const { cooldown } = settings.limits
  const { retryAfterMs } = failure
  if (retryAfterMs === undefined || retryAfterMs <= cooldown) return failure
  return { ...failure, retryAfterMs: cooldown, isRetryAfterCut: true }
}

/** Own keys can make a plan as long as their owner likes. */
const mostAttempts = 20

function isEnough({ settings }: Gateway, { attempts, startedAt }: Journey): boolean {
  return attempts.length >= mostAttempts || performance.now() - startedAt > settings.limits.total
}

/** Much may have happened since the plan was made: others were told to wait, or found an endpoint broken. */
function isWorthTrying(
  { routing, clock }: Gateway,
  candidates: readonly Candidate[],
  place: number,
  { attempts }: Journey,
): boolean {
  const candidate = candidates[place]
  if (!candidate) return false
  const last = attempts.at(-1)
  if (last && isRequestFault(last.failure) && last.model === candidate.model.id) return false
  const now = clock.now()
  const isPaused = ({ id }: Candidate) => routing.health.known(id)?.isPaused(now) ?? false
  const isEjected = ({ id }: Candidate) => routing.health.known(id)?.isEjected(now) ?? false
  if (isPaused(candidate)) return false
  if (candidate.why === 'ejected' || !isEjected(candidate)) return true
  return candidates.slice(place + 1).every((other) => isPaused(other) || isEjected(other))
}

/** The provider says itself that it did nothing, and may do it in the next moment. After a connection that broke nobody knows. */
const passing: ReadonlySet<number | null> = new Set([502, 503, 529])

/** Nobody else can be asked: once more, where the provider did not ask for patience and retries stay few. */
function mayTryAgain({ routing }: Gateway, asked: Asked, { id }: Candidate, { attempts }: Journey): boolean {
  const failure = attempts.at(-1)?.failure
  if (!failure || !passing.has(failure.status) || failure.retryAfterMs !== undefined) return false
  return asked.wishes.provider.allow_fallbacks !== false && routing.health.of(id).mayRetry()
}

/** Without the provider's words: they may repeat what was in the prompt. */
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

function factsOf(asked: Asked, { model, endpoint }: Candidate, journey: Journey): ReplyFacts {
  return {
    id: asked.id,
    created: Math.floor(asked.at / 1000),
    model: model.id,
    provider: endpoint.provider.name,
    tier: endpoint.service_tier,
    call: asked.call,
    body: asked.body,
    elapsedMs: () => performance.now() - asked.startedAt,
    formatNames: asked.wishes.formatNames,
    ...(asked.wishes.isExplained && { explain: () => metadataOf(asked, journey) }),
  }
}
