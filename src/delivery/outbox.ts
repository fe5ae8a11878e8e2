import type { Vault } from '../platform/crypto/crypto.ts'
import type { Statement } from '../platform/db/batch.ts'
import type { Db } from '../platform/db/db.ts'
import type { GenerationEvent } from './destinations/event.ts'
import {
  type ExportSettings,
  isSelected,
  needsContent,
  type RequestFacts,
  sharedParts,
} from './destinations/export-settings.ts'

/** The destinations of a request, chosen from what is known when it arrives. */
export interface ExportTargets {
  /** Destinations, and the parts that each may receive: the sum of its `sharedParts`. */
  destinations: readonly { id: string; shared: number }[]
  /** One of them receives the prompt and the reply, or filters by them. */
  includesContent: boolean
}

/** Null if no destination receives the request. */
export function selectTargets(
  destinations: readonly ExportSettings[],
  facts: RequestFacts,
): ExportTargets | null {
  const selected = destinations.filter((settings) => isSelected(settings, facts))
  if (selected.length === 0) return null
  // Content of a regional request is never stored, and what is queued is stored.
  if (facts.region !== 'global') return { destinations: selected.map(withoutContent), includesContent: false }
  return { destinations: selected, includesContent: selected.some(needsContent) }
}

function withoutContent({ id, shared }: ExportSettings): ExportTargets['destinations'][number] {
  return { id, shared: shared & ~sharedParts.content }
}

export interface OutboxOwner {
  organizationId: string
  workspaceId: string
}

/**
 * Queues an event, in the transaction that charges for the generation. Repeating it changes nothing; the settlement
 * that corrects another one replaces its event, if it is still there.
 */
export function buildOutboxStatements(
  db: Db,
  vault: Vault,
  { organizationId, workspaceId }: OutboxOwner,
  { destinations }: ExportTargets,
  event: GenerationEvent,
): Statement[] {
  const text = JSON.stringify(event)
  const size = Buffer.byteLength(text)
  const created_at = new Date(event.endedAt).toISOString()
  const sealed_event = vault.encrypt(text, outboxContext(event.id))
  const eventQuery = db
    .insertInto('outbox_events')
    .values({
      id: event.id,
      organization_id: organizationId,
      workspace_id: workspaceId,
      sealed_event,
      size,
      created_at,
    })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ sealed_event, size }))
  const deliveryQuery = db
    .insertInto('outbox_deliveries')
    .values(
      destinations.map(({ id, shared }) => ({
        destination_id: id,
        event_id: event.id,
        created_at,
        size,
        shared_parts: shared,
        state: 'pending' as const,
        attempts: 0,
        sealed_error: null,
      })),
    )
    .onConflict((conflict) => conflict.columns(['destination_id', 'event_id']).doNothing())
  return [eventQuery.compile(), deliveryQuery.compile()].map(({ sql, parameters }) => ({
    sql,
    values: parameters,
  }))
}

export function openEvent(vault: Vault, row: { id: string; sealed_event: string }): GenerationEvent {
  return JSON.parse(vault.decrypt(row.sealed_event, outboxContext(row.id)))
}

/** The context that an encrypted event is bound to. */
function outboxContext(id: string): string {
  return `outbox/${id}`
}
