import type { Gateway } from '../gateway/gateway.ts'
import type { Vault } from '../platform/crypto/crypto.ts'
import { subsystemLog } from '../platform/logging/subsystem-log.ts'
import { isoNow } from '../platform/time/clock.ts'
import { type DeliveryTarget, disableDestination, updateHeldState } from './destination-states.ts'
import type { GenerationEvent } from './destinations/event.ts'
import { acknowledge, markFailed } from './store.ts'

/** Full jitter: destinations that failed together do not retry together. */
const backoff = { firstMs: 1000, maxMs: 5 * 60_000, minMs: 100 }
/** The longest `Retry-After` that is waited for. */
const maxRetryAfterMs = 60 * 60_000
/** Delay until it is checked again whether something can be sent. A change of the destination does it at once. */
const holdMs = 10_000

export async function recordAccepted(
  gateway: Gateway,
  { row, state }: DeliveryTarget,
  events: readonly GenerationEvent[],
): Promise<void> {
  const { db, clock, metrics } = gateway
  if (events.length === 0) return
  const ids = events.map(({ id }) => id)
  metrics.countDeliveries(row.type, 'delivered', await acknowledge(db, row.id, ids, isoNow(clock)))
  state.failures = 0
}

/** The destination rejected these events: they are sent again only on request. */
export async function recordRejected(
  gateway: Gateway,
  { row }: DeliveryTarget,
  events: readonly GenerationEvent[],
  error: string,
): Promise<void> {
  const { db, vault, metrics } = gateway
  const encrypted = encryptError(vault, row.id, error)
  for (const { id } of events) await markFailed(db, row.id, id, encrypted)
  metrics.countDeliveries(row.type, 'failed', events.length)
  await recordError(gateway, { row }, error)
}

/** Shows what a destination said, without any other effect. */
export async function recordError(
  { db, node, clock, vault }: Gateway,
  { row }: Pick<DeliveryTarget, 'row'>,
  error: string,
): Promise<void> {
  await updateHeldState(db, row.id, node.id, {
    last_error_at: isoNow(clock),
    sealed_error: encryptError(vault, row.id, error),
  })
}

/** Records a failure, after which nothing is sent to the destination for a while. */
export async function recordFailure(
  gateway: Gateway,
  { row, state }: DeliveryTarget,
  { error, retryAfterMs }: { error: string; retryAfterMs: number },
): Promise<void> {
  const { db, node, clock, vault } = gateway
  const waitMs = Math.max(computeBackoff(state.failures), Math.min(retryAfterMs, maxRetryAfterMs))
  state.failures++
  await updateHeldState(db, row.id, node.id, {
    failures: state.failures,
    retry_at: new Date(clock.now() + waitMs).toISOString(),
    last_error_at: isoNow(clock),
    sealed_error: encryptError(vault, row.id, error),
  })
}

export function computeBackoff(failures: number): number {
  const limit = Math.min(backoff.maxMs, backoff.firstMs * 2 ** Math.min(failures, 20))
  return Math.max(backoff.minMs, Math.random() * limit)
}

/** 410: the destination is disabled until someone enables it again. Its events are dropped. */
export async function recordGone(gateway: Gateway, { row }: DeliveryTarget, error: string): Promise<void> {
  const { db, node, clock, vault, log } = gateway
  const now = isoNow(clock)
  if (!(await disableDestination(db, row, now))) return
  await updateHeldState(db, row.id, node.id, {
    disabled_reason: error,
    last_error_at: now,
    sealed_error: encryptError(vault, row.id, error),
  })
  subsystemLog(log, 'delivery').warn(
    { destination: row.id, type: row.type },
    'a destination responded with 410 and was disabled',
  )
}

/**
 * Records that nothing can be sent, for a reason that only a change of the destination removes. Returns false: nothing
 * follows.
 */
export async function recordHold(
  { db, node, clock, vault }: Gateway,
  id: string,
  problem: string,
): Promise<false> {
  await updateHeldState(db, id, node.id, {
    retry_at: new Date(clock.now() + holdMs).toISOString(),
    last_error_at: isoNow(clock),
    sealed_error: encryptError(vault, id, problem),
  })
  return false
}

const errorContext = (id: string) => `destination-error/${id}`

function encryptError(vault: Vault, id: string, error: string): string {
  return vault.encrypt(error, errorContext(id))
}

export function openError(vault: Vault, id: string, encrypted: string | null): string | null {
  return encrypted === null ? null : vault.decrypt(encrypted, errorContext(id))
}
