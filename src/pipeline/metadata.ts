import { GatewayError } from '../errors.ts'
import { type JsonObject, numberOf, objectOf, textOf } from '../lib/loose.ts'
import type { Candidate } from '../routing/candidate.ts'
import { type Attempt, type Decided, explain, type FiguresById, type Way } from '../routing/explain.ts'
import type { Asked } from './asked.ts'
import { type FailedAttempt, statusOf } from './failure.ts'
import type { Journey } from './journey.ts'
import type { Plan } from './route.ts'

/** What `service_metadata` says of a request, as far as it has come. */
export function metadataOf(asked: Asked, journey: Journey): JsonObject {
  return { ...explain(decidedOf(asked, journey.plan), wayOf(journey, null)) }
}

const nothingKnown: FiguresById = new Map()

export function decidedOf(asked: Asked, plan: Plan): Decided {
  const { wishes, region, source } = asked
  const requested = textOf(source.body?.model) ?? wishes.models[0] ?? ''
  return {
    ...plan,
    requested: requested.slice(0, longestName),
    slugs: wishes.models,
    region,
    params: paramsOf(asked, plan),
    figures: plan.figures ?? nothingKnown,
  }
}

/** Suffixes can be piled up without end. */
const longestName = 256

/** What the request says about its way, by the names it says it with. */
function paramsOf({ wishes, call }: Asked, { found }: Plan): JsonObject {
  const said = Object.entries(wishes.provider).filter(([, value]) => value !== null)
  const variants = [...new Set(found[0]?.variants)]
  return {
    ...Object.fromEntries(said),
    ...(variants.length > 0 && { variants }),
    ...(call.serviceTier !== undefined && { service_tier: call.serviceTier }),
  }
}

/** Tells why a request failed, to who asked for it. What is our own fault stays between the log and us. */
export function explainError(asked: Asked, plan: Plan, journey: Journey | null, error: unknown): void {
  if (!asked.wishes.isExplained || !(error instanceof GatewayError) || error.serviceMetadata) return
  error.serviceMetadata = { ...explain(decidedOf(asked, plan), journey && wayOf(journey, error)) }
}

function wayOf(journey: Journey, error: GatewayError | null): Way {
  const now = performance.now()
  const { candidate, attemptAt, startedAt } = journey
  const attempts = journey.attempts.map((attempt) => attemptOf(attempt, startedAt))
  // The last one is either among those that failed, or the one this is about.
  const hasFailed = journey.attempts.at(-1)?.beganAt === attemptAt
  if (candidate && !hasFailed) attempts.push(currentOf(candidate, journey, error, now))
  return {
    attempts,
    answered: error || hasFailed ? null : candidate,
    last: candidate,
    generationMs: candidate && now - attemptAt,
    firstTokenMs: journey.firstTokenMs,
    totalMs: now - startedAt,
  }
}

function attemptOf(
  { endpoint: tag, failure, beganAt, endedAt, ...attempt }: FailedAttempt,
  from: number,
): Attempt {
  return {
    ...attempt,
    tag,
    status: statusOf(failure),
    error: failure.kind,
    startedMs: beganAt - from,
    durationMs: endedAt - beganAt,
  }
}

/** When its client is told of a failure of the provider, it is that of this one. */
function currentOf(
  { model, endpoint, ownKey }: Candidate,
  { attemptAt, startedAt }: Journey,
  error: GatewayError | null,
  now: number,
): Attempt {
  const failure = error?.code.startsWith('upstream_') ? objectOf(error.cause) : undefined
  return {
    model: model.id,
    provider: endpoint.provider.name,
    tag: endpoint.tag,
    ownKeyId: ownKey?.id ?? null,
    status: failure ? (numberOf(failure.status) ?? error?.row.status ?? 502) : 200,
    error: textOf(failure?.kind) ?? null,
    startedMs: attemptAt - startedAt,
    durationMs: now - attemptAt,
  }
}
