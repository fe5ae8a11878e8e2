import type { Gateway } from '../../gateway/gateway.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import { toClientError } from '../failures/failure.ts'
import { estimateRateUse } from '../rates/estimate.ts'
import { RateQueue } from '../rates/rate-queue.ts'
import { Room } from '../rates/room.ts'
import { hasRoom, type Shortfall, takeAnyway, takeRoom } from '../rates/take-room.ts'
import type { RatedRequest } from '../rates/waiting.ts'
import type { Routed } from '../request/inference-request.ts'
import type { Candidate } from '../routing/candidate.ts'
import { fallBack } from './fall-back.ts'
import { timeLeft } from './time-limits.ts'

/** Whether rates are known that count the requests to a candidate. `withFailover`, which every request enters, does not call it. */
export function isRated({ upstreams }: Gateway, { endpoint, id }: Candidate): boolean {
  return endpoint.rates !== null || upstreams.rates.learned.has(id)
}

type IsUsableFn = (candidate: Candidate) => boolean

/**
 * Counts a request in the rates of the candidate at an index. If they leave no room for its priority, a usable candidate
 * that has room takes its place, and the result is null; if there is none, the request waits. Throws if it cannot.
 */
export async function enterEndpoint(
  gateway: Gateway,
  request: Routed,
  index: number,
  isUsable: IsUsableFn,
): Promise<Room | null> {
  const candidate = request.plan.candidates[index]
  if (!candidate) throw new Error('there is no candidate at this index')
  const rated = describe(request, candidate)
  const queue = gateway.upstreams.rates.queues.get(candidate.id)
  const taken: Room | Shortfall = queue?.hasBefore(rated.priority)
    ? { waitMs: 0 }
    : await takeRoom(gateway, rated)
  if (taken instanceof Room) return taken
  if (await moveUp(gateway, request, index, isUsable)) return null
  return wait(gateway, request, { index, rated, waitMs: taken.waitMs })
}

/** Counts another attempt at the same endpoint. */
export function reenterEndpoint(gateway: Gateway, request: Routed, candidate: Candidate): Promise<Room> {
  return takeAnyway(gateway, describe(request, candidate))
}

/** Counts a request at another candidate, if that has room. */
export async function tryEnterEndpoint(
  gateway: Gateway,
  request: Routed,
  candidate: Candidate,
): Promise<Room | null> {
  const taken = await takeRoom(gateway, describe(request, candidate))
  return taken instanceof Room ? taken : null
}

function describe(request: Routed, candidate: Candidate): RatedRequest {
  return { candidate, priority: request.options.priority, use: estimateRateUse(request) }
}

/** Each candidate is passed over once, so that a request does not look for room forever. */
async function moveUp(
  gateway: Gateway,
  request: Routed,
  index: number,
  isUsable: IsUsableFn,
): Promise<boolean> {
  const { attempts, plan, options } = request
  const [candidate, ...others] = plan.candidates.slice(index)
  const passedOver = attempts.queue?.passedOver ?? []
  if (!candidate || passedOver.includes(candidate)) return false
  for (const other of others) {
    if (passedOver.includes(other) || !isUsable(other)) continue
    const isFree = !isRated(gateway, other) || (await canEnter(gateway, request, other))
    if (!isFree) continue
    placeAt(request, index, other)
    attempts.queue = { waitedMs: 0, ...attempts.queue, passedOver: [...passedOver, candidate] }
    gateway.metrics.rates.recordMove(candidate.endpoint.provider.slug, options.priority)
    return true
  }
  return false
}

async function canEnter(gateway: Gateway, request: Routed, candidate: Candidate): Promise<boolean> {
  const rated = describe(request, candidate)
  if (gateway.upstreams.rates.queues.get(candidate.id)?.hasBefore(rated.priority)) return false
  return hasRoom(gateway, rated)
}

function placeAt(request: Routed, index: number, candidate: Candidate): void {
  const candidates = request.plan.candidates.filter((other) => other !== candidate)
  candidates.splice(index, 0, candidate)
  request.plan = { ...request.plan, candidates }
}

interface Wait {
  index: number
  rated: RatedRequest
  waitMs: number
}

/** Null if another model serves the request instead. */
async function wait(gateway: Gateway, request: Routed, { index, rated, waitMs }: Wait): Promise<Room | null> {
  const { candidate, priority } = rated
  const { rates } = gateway.upstreams
  const queue = rates.queues.get(candidate.id) ?? new RateQueue(gateway, candidate.id)
  const startedAt = gateway.timer.now()
  const waiting = {
    ...rated,
    keyId: request.caller.key.id,
    signal: request.httpRequest.signal,
    maxWaitMs: Math.min(gateway.settings.priorities.longest_wait, timeLeft(gateway, request)),
  }
  try {
    const room = await queue.wait(waiting, waitMs)
    gateway.metrics.rates.recordWait(priority, (gateway.timer.now() - startedAt) / 1000)
    return room
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'provider_rate_used') throw error
    const { failed } = request.attempts
    if (failed.length > 0) throw toClientError(failed)
    const other = await fallBack(gateway, request, null)
    if (!other) throw error
    placeAt(request, index, other)
    return null
  } finally {
    const { queue: before } = request.attempts
    request.attempts.queue = {
      passedOver: before?.passedOver ?? [],
      waitedMs: (before?.waitedMs ?? 0) + gateway.timer.now() - startedAt,
    }
  }
}
