import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import { heldBackMessage, openChannel } from '../../../delivery/channel.ts'
import { type DeliveryTarget, findTarget, updateState } from '../../../delivery/destination-states.ts'
import { openError } from '../../../delivery/outcome.ts'
import { listFailed, measureQueue, requeueFailed } from '../../../delivery/store.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { defineOperation } from '../../../http/operation.ts'
import type { Db } from '../../../platform/db/db.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { pageQuery } from '../../../platform/validation/query-params.ts'
import {
  describeDestination,
  destinationNotFoundError,
  lockDestination,
  requireDestination,
} from './store.ts'

const tag = 'Observability'
const idParam = z.object({ id: z.uuid().toLowerCase() })

const deliveryStatus = z
  .strictObject({
    state: z
      .enum(['active', 'paused', 'failing', 'disabled', 'held_back'])
      .describe(
        '`failing`: the last request failed, and is retried at `retry_at`. `held_back`: the secrets were entered for another address. `disabled`: nothing is queued, for the reason in `disabled_reason`.',
      ),
    disabled_reason: z.string().nullable(),
    queued: z.int().describe('Events that wait to be sent.'),
    oldest_queued_seconds: z.number().nullable().describe('The age of the oldest of them.'),
    delivered: z.int().describe('Events that the destination accepted.'),
    failed: z.int().describe('Events that the destination rejected: `POST .../redeliver` sends them again.'),
    dropped: z.int().describe('Events that were removed before they were delivered.'),
    last_success_at: z.string().nullable(),
    last_error: z.string().nullable(),
    last_error_at: z.string().nullable(),
    retry_at: z.string().nullable(),
  })
  .meta({ id: 'ObservabilityDeliveryStatus' })

const statusResponse = z.strictObject({ data: deliveryStatus })

const getDeliveryStatus = defineOperation({
  id: 'getObservabilityDeliveryStatus',
  method: 'GET',
  path: '/observability/destinations/{id}/status',
  tag,
  summary: 'Retrieves how the delivery to a destination goes.',
  description: 'An extension.',
  permission: 'destinations:read',
  params: idParam,
  errors: [404],
  response: statusResponse,
  handle: async (context) => {
    const { id } = await requireDestination(context.gateway.db, context)
    return { data: await readStatus(context.gateway, id) }
  },
})

const pauseDelivery = defineOperation({
  id: 'pauseObservabilityDelivery',
  method: 'POST',
  path: '/observability/destinations/{id}/pause',
  tag,
  summary: 'Pauses the delivery to a destination.',
  description: 'An extension. Events are queued meanwhile, within the bounds of the queue.',
  permission: 'destinations:write',
  params: idParam,
  errors: [404],
  response: statusResponse,
  handle: async (context) => {
    const row = await transact(context, async (tx, record) => {
      const locked = await lockDestination(tx, context)
      await updateState(tx, locked.id, { paused: 1 })
      record({ action: 'destination.pause', ...describeDestination(locked) })
      return locked
    })
    return { data: await readStatus(context.gateway, row.id) }
  },
})

const resumeDelivery = defineOperation({
  id: 'resumeObservabilityDelivery',
  method: 'POST',
  path: '/observability/destinations/{id}/resume',
  tag,
  summary: 'Resumes the delivery to a destination, at once even if a retry is due later.',
  description: 'An extension. A disabled destination is enabled with `PATCH`.',
  permission: 'destinations:write',
  params: idParam,
  errors: [404],
  response: statusResponse,
  handle: async (context) => {
    const row = await transact(context, async (tx, record) => {
      const locked = await lockDestination(tx, context)
      await updateState(tx, locked.id, { paused: 0, retry_at: null })
      record({ action: 'destination.resume', ...describeDestination(locked) })
      return locked
    })
    context.gateway.delivery.signal.wake()
    return { data: await readStatus(context.gateway, row.id) }
  },
})

const redeliverBody = z.strictObject({
  event_ids: z.array(z.string().min(1).max(100)).min(1).max(1000).optional().describe('Defaults to all.'),
})

const redeliverEvents = defineOperation({
  id: 'redeliverObservabilityEvents',
  method: 'POST',
  path: '/observability/destinations/{id}/redeliver',
  tag,
  summary: 'Sends events again that a destination rejected.',
  description: 'An extension. Events that are not among the failures are ignored.',
  permission: 'destinations:write',
  params: idParam,
  body: redeliverBody,
  optionalBody: true,
  errors: [404, 409],
  response: z.strictObject({ data: z.strictObject({ requeued: z.int() }) }),
  handle: async (context) => {
    const requeued = await transact(context, async (tx, record) => {
      const row = await lockDestination(tx, context)
      await assertEnabled(tx, row.id)
      const count = await requeueFailed(tx, row.id, context.body.event_ids)
      record({ action: 'destination.redeliver', ...describeDestination(row), details: { events: count } })
      return count
    })
    context.gateway.delivery.signal.wake()
    return { data: { requeued } }
  },
})

const deliveryFailure = z
  .strictObject({
    event_id: z.string().describe('The generation.'),
    error: z.string().nullable(),
    attempts: z.int(),
    created_at: z.string(),
  })
  .meta({ id: 'ObservabilityDeliveryFailure' })

const listDeliveryFailures = defineOperation({
  id: 'listObservabilityDeliveryFailures',
  method: 'GET',
  path: '/observability/destinations/{id}/failures',
  tag,
  summary: 'Lists the events that a destination rejected, oldest first.',
  description: 'An extension.',
  permission: 'destinations:read',
  params: idParam,
  query: pageQuery,
  errors: [404],
  response: z.strictObject({ data: z.array(deliveryFailure), total_count: z.int() }),
  handle: async (context) => {
    const { db, vault } = context.gateway
    const { id } = await requireDestination(db, context)
    const { rows, total } = await listFailed(db, id, context.query)
    const data = rows.map(({ event_id, attempts, created_at, sealed_error }) => ({
      event_id,
      error: openError(vault, id, sealed_error),
      attempts,
      created_at,
    }))
    return { data, total_count: total }
  },
})

export const deliveryOperations = [
  getDeliveryStatus,
  pauseDelivery,
  resumeDelivery,
  redeliverEvents,
  listDeliveryFailures,
]

async function readStatus(gateway: Gateway, id: string): Promise<z.output<typeof deliveryStatus>> {
  const { db, vault, clock, ledger } = gateway
  // What was acknowledged may still be in the journal.
  await ledger.flush()
  const target = await findTarget(db, id)
  if (!target) throw destinationNotFoundError()
  const pending = await measureQueue(db, id, 'pending')
  const failed = await measureQueue(db, id, 'failed')
  const { state } = target
  return {
    state: resolveState(gateway, target),
    disabled_reason: findDisabledReason(target),
    queued: pending.count,
    oldest_queued_seconds:
      pending.since === null ? null : Math.max(0, (clock.now() - Date.parse(pending.since)) / 1000),
    delivered: state.delivered,
    failed: failed.count,
    dropped: state.dropped,
    last_success_at: state.last_success_at,
    last_error: openError(vault, id, state.sealed_error),
    last_error_at: state.last_error_at,
    retry_at: state.retry_at,
  }
}

function resolveState(gateway: Gateway, target: DeliveryTarget): z.output<typeof deliveryStatus>['state'] {
  if (findDisabledReason(target) !== null) return 'disabled'
  if (target.state.paused === 1) return 'paused'
  const channel = openChannel(gateway, target.row)
  if (channel === heldBackMessage) return 'held_back'
  return typeof channel === 'string' || target.state.failures > 0 ? 'failing' : 'active'
}

/** Rejects a disabled destination, whose queue is dropped. */
async function assertEnabled(db: Db, id: string): Promise<void> {
  const target = await findTarget(db, id)
  const reason = target ? findDisabledReason(target) : null
  if (reason !== null)
    throw gatewayError('conflict', `${reason} Events can be sent again once it is enabled.`)
}

function findDisabledReason({ row, isBroadcasting, state }: DeliveryTarget): string | null {
  if (row.enabled === 0) return state.disabled_reason ?? 'The destination is disabled.'
  return isBroadcasting
    ? null
    : 'The workspace does not broadcast: set its is_observability_broadcast_enabled to true.'
}
