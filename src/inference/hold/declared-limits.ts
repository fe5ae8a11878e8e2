import type { KeyContext } from '../../gateway/account-cache.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { type AppliedLimit, applyLimits, toLedgerLimit } from '../../governance/limits/applied-limits.ts'
import { ledgerWindowOf } from '../../governance/limits/limit-rule.ts'
import type { Charge } from '../../ledger/charge.ts'
import type { Limit, Rejection } from '../../ledger/ledger-state.ts'
import type { PlacedHold, RequestState, Routed, RoutingPlan } from '../request/inference-request.ts'
import type { Candidate } from '../routing/candidate.ts'
import { limitError, shortfallError } from './limit-error.ts'
import { LimitReservation, type Shortfall } from './limit-reservation.ts'
import { freeUse, type MeasuredUse, measureUse } from './measured-use.ts'
import { buildRateHeaders } from './rate-headers.ts'
import type { RequestLimits, Spending } from './spending.ts'

export function resolveLimits(request: RequestState, { candidates }: RoutingPlan): RequestLimits | null {
  const { keyContext, caller, options } = request
  const { declaredLimits } = keyContext
  if (!declaredLimits) return null
  const facts = { endUser: options.user, tags: options.tags }
  const applied = applyLimits(declaredLimits, caller.key, facts, candidates)
  const mayFallBack = options.fallbacks !== null || candidates.some(({ model }) => model.fallbacks)
  const isConditional = applied.some(
    ({ rule, counts, isPartial }) => counts && (isPartial || mayFallBack) && ledgerWindowOf(rule),
  )
  return { applied, spending: findSpending(keyContext, applied), isConditional, reservation: null }
}

/** Requests with the same limits share one list: the ledger recognizes it. */
const spendingByContext = new WeakMap<KeyContext, Map<string, Spending>>()
/** Lists remembered for one key. */
const maxSpendings = 200

function findSpending(keyContext: KeyContext, applied: readonly AppliedLimit[]): Spending {
  const ledger = applied.flatMap((limit) => toLedgerLimit(limit) ?? [])
  if (ledger.length === 0) return keyContext
  const known = spendingByContext.get(keyContext) ?? new Map<string, Spending>()
  spendingByContext.set(keyContext, known)
  const subjects = ledger.map(({ subject }) => subject)
  const name = subjects.join(' ')
  const spending = known.get(name) ?? {
    meterScopes: [...keyContext.meterScopes, ...subjects],
    limits: [...keyContext.limits, ...ledger],
  }
  if (known.size >= maxSpendings) known.clear()
  known.set(name, spending)
  return spending
}

/** The meters that do not count what a request has spent, because another candidate has served it than they are for. */
export function listUncharged(
  { applied: all, isConditional }: RequestLimits,
  candidate: Candidate,
): string[] {
  if (!isConditional) return []
  return all.flatMap((applied) => {
    if (!applied.counts || applied.counts(candidate)) return []
    return toLedgerLimit(applied)?.subject ?? []
  })
}

/** What one attempt to admit a request needs, and how its hold is placed. */
export interface Admission {
  use: MeasuredUse
  place(): Promise<PlacedHold | Rejection>
}

/**
 * Admits a request within the declared limits. A limit that counts only some candidates excludes them, as long as there
 * are others.
 */
export async function admitWithinLimits(
  gateway: Gateway,
  request: Routed,
  prepare: () => Admission,
): Promise<PlacedHold> {
  for (;;) {
    const limits = resolveLimits(request, request.plan)
    request.limits = limits
    const { use, place } = prepare()
    const reservation = limits && (await reserve(gateway, request, limits, use))
    if (reservation && !(reservation instanceof LimitReservation)) {
      if (excludeCandidates(request, reservation.applied)) continue
      throw shortfallError(reservation, request.at)
    }
    const placed = await placeWithin(reservation, place)
    if (!('reason' in placed)) {
      if (limits && reservation) confirm(request, limits, reservation)
      return placed
    }
    await reservation?.release()
    const rejecting = placed.reason === 'limit' && limits ? findApplied(limits, placed.limit) : undefined
    if (!rejecting || !excludeCandidates(request, rejecting)) throw limitError(request, placed)
  }
}

async function placeWithin(
  reservation: LimitReservation | null,
  place: Admission['place'],
): Promise<PlacedHold | Rejection> {
  try {
    return await place()
  } catch (error) {
    await reservation?.release()
    throw error
  }
}

function confirm(request: Routed, limits: RequestLimits, reservation: LimitReservation): void {
  limits.reservation = reservation
  request.replyHeaders = { ...request.replyHeaders, ...buildRateHeaders(reservation.counted) }
}

function reserve(
  { limitCounts }: Gateway,
  { at, isNested }: Routed,
  { applied }: RequestLimits,
  use: MeasuredUse,
): Promise<LimitReservation | Shortfall> {
  const counted = applied.filter(({ rule }) => !ledgerWindowOf(rule))
  // What a plugin or tool requests is part of the request that it works for.
  const own = isNested ? { ...use, requests: 0, concurrent_requests: 0 } : use
  return LimitReservation.reserve(limitCounts, counted, own, at)
}

/** Whether the declared limits leave room for a request that costs nothing. Nothing stays reserved. */
export async function hasRoomForFree(gateway: Gateway, request: Routed): Promise<boolean> {
  const limits = resolveLimits(request, request.plan)
  if (!limits) return true
  const applied = limits.applied.filter(({ isPartial }) => !isPartial)
  const use = { ...freeUse, concurrent_requests: 1 }
  const reservation = await reserve(gateway, request, { ...limits, applied }, use)
  if (!(reservation instanceof LimitReservation)) return false
  await reservation.release()
  return true
}

function findApplied({ applied }: RequestLimits, { subject }: Limit): AppliedLimit | undefined {
  return applied.find((limit) => toLedgerLimit(limit)?.subject === subject)
}

/** Leaves the request to candidates that the limit does not count; false if there are none. */
function excludeCandidates(request: Routed, { counts }: AppliedLimit): boolean {
  if (!counts) return false
  const { plan } = request
  const candidates = plan.candidates.filter((candidate) => !counts(candidate))
  if (candidates.length === 0 || candidates.length === plan.candidates.length) return false
  const excluded = plan.candidates.filter(counts).map(({ model, endpoint, byokKey }) => ({
    model,
    endpoint,
    byokKeyId: byokKey?.id ?? null,
    reason: 'limit_reached' as const,
  }))
  request.plan = { ...plan, candidates, exclusions: [...plan.exclusions, ...excluded] }
  return true
}

/**
 * The candidates of a fallback, without those that a limit counts which did not count the request when it was admitted:
 * nothing is held in it.
 */
export function dropUnheld(request: RequestState, plan: RoutingPlan): RoutingPlan {
  const { limits } = request
  const held = new Set(limits?.applied.map(identify))
  const unheld = resolveLimits(request, plan)?.applied.filter((applied) => !held.has(identify(applied))) ?? []
  const isUnheld = (candidate: Candidate) => unheld.some(({ counts }) => !counts || counts(candidate))
  return unheld.length === 0 ? plan : { ...plan, candidates: plan.candidates.filter((one) => !isUnheld(one)) }
}

function identify({ rule, counter }: AppliedLimit): string {
  return `${rule.id} ${counter}`
}

/** The request continues as a job: it is counted as reserved, and no longer among concurrent requests. */
export function leaveToJob({ limits }: RequestState): void {
  limits?.reservation?.freeSlots()
}

/** Counts what a request has used instead of what was reserved for it. */
export async function settleLimits(
  request: RequestState,
  candidate: Candidate | null,
  charge: Charge,
): Promise<void> {
  const reservation = request.limits?.reservation
  if (!reservation) return
  if (!candidate) await reservation.release()
  else await reservation.settle(measureUse(charge.usage, charge.cost + charge.byok), candidate)
}
