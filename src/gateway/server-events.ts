import { isDeepStrictEqual } from 'node:util'
import type { AuditOrigin, AuditRecord } from '../governance/audit/entry.ts'
import type { QueuedEvent } from '../governance/audit/queue.ts'
import { transactAs } from '../governance/audit/transaction.ts'
import type { Gateway } from './gateway.ts'
import type { Settings } from './settings.ts'

type ServerAction = 'server.start' | 'server.stop' | 'settings.reload'

/** The origin of what the server does by itself. */
export function describeServer({ node }: Pick<Gateway, 'node'>): AuditOrigin {
  const actor = { type: 'job' as const, id: node.id, name: 'server' }
  return { organizationId: null, actor, ip: null, userAgent: null, requestId: null }
}

/** Events of this process, in the chain of the installation. */
export function describeServerEvent(
  { node }: Pick<Gateway, 'node'>,
  action: ServerAction,
  details: AuditRecord = {},
): QueuedEvent {
  const [type = ''] = action.split('.')
  return {
    origin: describeServer({ node }),
    event: { action, target: { type, id: node.id }, details },
  }
}

export async function recordServerEvent(
  gateway: Gateway,
  action: ServerAction,
  details: AuditRecord = {},
): Promise<void> {
  const { origin, event } = describeServerEvent(gateway, action, details)
  await transactAs(gateway, origin, async (_tx, record) => record(event))
}

/** Names only: values may be secrets. */
export function listChangedSections(before: Settings, after: Settings): string[] {
  const names = Object.keys(after) as (keyof Settings)[]
  return names.filter((name) => !isDeepStrictEqual(before[name], after[name]))
}
