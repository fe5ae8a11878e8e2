import type { DeclaredRate } from '../../catalog/rate-limits.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { estimateWait } from '../../governance/limits/window.ts'
import type { Candidate } from '../routing/candidate.ts'
import type { RateUse } from './rate-use.ts'
import { type CountedRate, countInWindow, locateInMinute, Room } from './room.ts'
import type { RatedRequest } from './waiting.ts'

/** Milliseconds until there is probably room. */
export interface Shortfall {
  waitMs: number
}

/** Counts a request in the rates of its endpoint, unless they leave no room for its priority. */
export async function takeRoom(gateway: Gateway, request: RatedRequest): Promise<Room | Shortfall> {
  const { candidate, priority, use } = request
  const share = gateway.settings.priorities.thresholds[priority]
  const waitMs = waitForKnown(gateway, request, share)
  if (waitMs !== null) return { waitMs }
  const counted: CountedRate[] = []
  const room = occupy(gateway, request, counted)
  for (const rate of declaredRatesOf(candidate)) {
    const taken = await take(gateway, rate, use, share)
    if ('waitMs' in taken) {
      await room.release()
      return taken
    }
    counted.push(taken)
  }
  return room
}

/** Counts a request whatever the rates leave. */
export async function takeAnyway(gateway: Gateway, request: RatedRequest): Promise<Room> {
  const { candidate, use } = request
  const counted: CountedRate[] = []
  const room = occupy(gateway, request, counted)
  for (const rate of declaredRatesOf(candidate)) {
    const taken = await take(gateway, rate, use, Number.POSITIVE_INFINITY)
    if (!('waitMs' in taken)) counted.push(taken)
  }
  return room
}

function occupy(
  { cluster, upstreams, timer }: Gateway,
  { candidate, use }: RatedRequest,
  counted: readonly CountedRate[],
): Room {
  const learned = upstreams.rates.learned.get(candidate.id) ?? null
  const sentAt = timer.now()
  learned?.add(use, sentAt)
  return new Room(cluster, use, { learned, counted, sentAt })
}

/** Whether the rates of an endpoint leave room for a request, without counting it. */
export async function hasRoom(gateway: Gateway, request: RatedRequest): Promise<boolean> {
  const { candidate, priority, use } = request
  const share = gateway.settings.priorities.thresholds[priority]
  if (waitForKnown(gateway, request, share) !== null) return false
  for (const rate of declaredRatesOf(candidate)) {
    const { used } = await countInWindow(gateway.cluster, nameOf(rate), 0, 0, positionOf(gateway))
    const allowed = allowedOf(gateway, rate, share)
    if (used + Math.min(use[rate.measure], allowed) > allowed) return false
  }
  return true
}

/** Of a cooldown and of learned rates; null if they leave room. */
function waitForKnown(
  { upstreams, routing, clock, timer }: Gateway,
  { candidate: { id }, use }: RatedRequest,
  share: number,
): number | null {
  const now = clock.now()
  const health = routing.health.find(id)
  if (health?.isCoolingDown(now)) return health.cooldownUntil - now
  return upstreams.rates.learned.get(id)?.estimateWait(use, share, timer.now()) ?? null
}

const noRates: readonly DeclaredRate[] = []

/** A declared rate is that of the installation's credential: the owner of a BYOK key has one of their own. */
function declaredRatesOf({ endpoint, byokKey }: Candidate): readonly DeclaredRate[] {
  return byokKey ? noRates : (endpoint.rates ?? noRates)
}

async function take(
  gateway: Gateway,
  rate: DeclaredRate,
  use: RateUse,
  share: number,
): Promise<CountedRate | Shortfall> {
  const { measure } = rate
  const name = nameOf(rate)
  const position = positionOf(gateway)
  const limit = Number.isFinite(share) ? allowedOf(gateway, rate, share) : Number.MAX_SAFE_INTEGER
  // One that needs more than the whole rate passes when nothing else does.
  const amount = Math.min(use[measure], limit)
  const taken = await countInWindow(gateway.cluster, name, amount, limit, position)
  if (taken.isTaken) return { name, measure, amount, take: taken, position }
  const waitMs = estimateWait(position, { limit, used: taken.used, amount, now: position.now })
  return { waitMs: waitMs ?? position.windowMs }
}

function nameOf({ name, measure }: DeclaredRate): string {
  return `rate ${name} ${measure}`
}

function positionOf({ clock }: Gateway) {
  return locateInMinute(clock.now())
}

/** What requests of a priority may use. Nodes without a server that counts for all of them have a share each. */
function allowedOf({ cluster, node }: Gateway, { perMinute }: DeclaredRate, share: number): number {
  const nodes = cluster.status.kind === 'memory' ? node.liveNodes : 1
  return Math.max(1, Math.floor((perMinute * share) / nodes))
}
