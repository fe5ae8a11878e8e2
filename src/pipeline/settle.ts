import type { Bill } from '../call/usage.ts'
import type { Endpoint } from '../catalog/model.ts'
import type { ServedTier } from '../catalog/vocabulary.ts'
import type { Statement } from '../db/batch.ts'
import type { Seen } from '../dialects/dialect.ts'
import { GatewayError } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import { type Charge, chargeOf, least, type Reply } from '../ledger/charge.ts'
import type { Checkpoint } from '../ledger/draft.ts'
import type { Settle } from '../ledger/engine.ts'
import { type GenerationParts, generationValues, tokensOf } from '../ledger/generation.ts'
import { release } from '../ledger/ledger.ts'
import { usdFromNanos } from '../ledger/money.ts'
import type { Candidate } from '../routing/candidate.ts'
import { type Admission, laneBeside, placeOf, pricingOf } from './admit.ts'
import type { Asked } from './asked.ts'
import { contentStatements } from './content.ts'
import type { StreamedReply } from './dispatch.ts'
import type { FailedAttempt } from './failure.ts'
import type { Journey, Outcome, Taken } from './journey.ts'
import { observe } from './observe.ts'

/** What a reply consumed and costs: known before the client is told that it is over. */
export function charged(
  gateway: Gateway,
  asked: Asked,
  { hold, draft }: Admission,
  candidate: Candidate,
  seen: Seen,
  brokeOff = false,
): Charge {
  const endpoint = servedBy(candidate, seen)
  const reply = replyOf(seen, brokeOff)
  // What the provider says it took is better than the most it may take.
  const isTold = endpoint.pricing === null && reply.usage?.reportedCost != null
  return chargeOf(reply, {
    pricing: isTold ? null : pricingOf(gateway, endpoint),
    at: asked.at,
    isByok: candidate.ownKey !== null,
    byokFee: draft.byokFee,
    hold,
    promptEstimate: () => draft.promptTokens,
    inputImages: draft.generation.input_images,
  })
}

/** The tier a reply was served with: the upstream's word, or else the lane it was asked for in; null: not said. */
export function tierOf({ endpoint }: Candidate, seen: Seen | null): ServedTier | null {
  return seen?.tier ?? endpoint.service_tier
}

/** The endpoint whose prices count: a provider may serve with another tier than it was asked for. */
function servedBy(candidate: Candidate, seen: Seen): Endpoint {
  const { model, endpoint } = candidate
  const tier = tierOf(candidate, seen)
  const lane = tier === 'default' ? null : tier
  return lane === endpoint.service_tier ? endpoint : laneBeside(model, endpoint, lane)
}

/** What of a reply its charge depends on. One that broke off ends with an error for its client. */
function replyOf(seen: Seen, brokeOff = false): Reply {
  return {
    usage: seen.usage,
    complete: seen.complete,
    characters: seen.characters,
    finished: seen.finishes.length > 0,
    failed: brokeOff || endedBadly(seen),
  }
}

export function endedBadly(seen: Seen): boolean {
  return seen.finishes.some((finish) => finish?.reason === 'error')
}

export function billOf({ cost, list, byok }: Charge, candidate: Candidate | undefined): Bill {
  const isByok = candidate?.ownKey != null
  const total = isByok ? byok : cost
  // The parts of a charge that was cut to its hold are no more than the whole.
  const isCut = total < list.total
  const prompt = isCut ? least(list.prompt, total) : list.prompt
  const completion = isCut ? least(list.completion, total - prompt) : list.completion
  return {
    cost: usdFromNanos(cost),
    isByok,
    upstreamCost: usdFromNanos(total),
    upstreamPromptCost: usdFromNanos(prompt),
    upstreamCompletionCost: usdFromNanos(completion),
  }
}

/** How far a reply has come, for the case that nobody is left to settle it. */
export function checkpointOf(
  gateway: Gateway,
  { attempts, firstTokenMs }: Journey,
  { candidate, translation, reply }: Taken<StreamedReply>,
): string {
  const { seen } = reply.flow
  const checkpoint: Checkpoint = {
    place: {
      ...placeOf(gateway, candidate, translation.dialect.name),
      pricing: pricingOf(gateway, servedBy(candidate, seen)),
    },
    reply: replyOf(seen),
    tier: tierOf(candidate, seen),
    firstTokenMs: firstTokenMs === null ? null : Math.round(firstTokenMs),
    attempts: attemptsText(attempts),
  }
  return JSON.stringify(checkpoint)
}

/** Settles a request. Whatever ends it first counts; later calls wait for that and change nothing. */
export type Close = (outcome: Outcome, companions?: Statement[]) => Promise<void>

export function closing(gateway: Gateway, asked: Asked, admission: Admission, journey: Journey): Close {
  let closed: Promise<void> | undefined
  return (outcome, companions = []) => {
    const settled = () => {
      observe(gateway, asked, journey, outcome)
      const told = { ...journey, error: outcome.error }
      const kept = [...companions, ...contentStatements(gateway, asked, told)]
      return settle(gateway, settlementOf(gateway, admission, journey, outcome, kept), asked)
    }
    closed ??= settled()
    return closed
  }
}

/** Durable once it is done. */
export async function settle(gateway: Gateway, settlement: Settle, { id }: Asked): Promise<void> {
  try {
    await gateway.ledger.settle(settlement)
  } catch (cause) {
    gateway.log.error({ err: cause, id }, 'settlement failed')
    throw cause instanceof GatewayError ? cause : new GatewayError('unavailable', { cause })
  }
}

function settlementOf(
  gateway: Gateway,
  admission: Admission,
  journey: Journey,
  outcome: Outcome,
  companions: Statement[] = [],
): Settle {
  const { id, organization_id } = admission.draft.generation
  const { candidate } = journey
  const generation = generationOf(gateway, admission, journey, outcome)
  if (!generation || !candidate) return release(id, organization_id)
  const { charge } = outcome
  gateway.metrics.charged(candidate.endpoint.provider.slug, charge)
  return {
    op: 'settle',
    id,
    organizationId: organization_id,
    isByok: candidate.ownKey !== null,
    spent: { amount: charge.cost, byok: charge.byok },
    generation: generationValues(generation),
    countsIn: admission.countsIn,
    companions,
  }
}

/** Null when the request never reached a provider: there is nothing to account for. */
function generationOf(
  gateway: Gateway,
  { hold, draft }: Admission,
  { candidate, translation, attempts, startedAt }: Journey,
  { status, charge, seen, error, firstTokenMs }: Outcome,
): GenerationParts | null {
  if (!candidate || !translation) return null
  const [finish] = seen?.finishes ?? []
  const dropped = [...translation.request.dropped, ...(seen?.lost ?? [])]
  return {
    draft: draft.generation,
    place: placeOf(gateway, candidate, translation.dialect.name),
    tokens: tokensOf(charge),
    end: {
      status,
      error_code: error?.code ?? null,
      finish_reason: finish?.reason ?? null,
      native_finish_reason: finish?.native?.slice(0, 100).replaceAll('\0', '') ?? null,
      hold_nanos: hold.amount,
      flag: charge.flag,
      latency_ms: Math.round(performance.now() - startedAt),
      first_token_ms: firstTokenMs === null ? null : Math.round(firstTokenMs),
      attempts: attemptsText(attempts),
      dropped: dropped.length === 0 ? null : JSON.stringify(dropped),
      upstream_id: null,
      service_tier: tierOf(candidate, seen),
      response_cache_source_id: null,
    },
  }
}

function attemptsText(attempts: FailedAttempt[]): string {
  return attempts.length === 0 ? '[]' : JSON.stringify(attempts.map(attemptRecord))
}

function attemptRecord({ provider, endpoint, model, failure }: FailedAttempt) {
  return { provider, endpoint, model, code: failure.kind, status: failure.status }
}
