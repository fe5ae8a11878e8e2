import type { Logger } from 'pino'
import type { ClusterNode } from '../../ledger/recovery.ts'
import { subsystemLog } from '../../platform/logging/subsystem-log.ts'
import { AuditQueue } from './queue.ts'
import { RejectedCalls } from './rejected-calls.ts'
import { SecretUses } from './secret-uses.ts'
import type { AuditDeps } from './transaction.ts'

/** Creates the recorders of events that have no transaction of their own. */
export function createAuditRecorders(deps: AuditDeps & { log: Logger }, node: ClusterNode) {
  const queue = new AuditQueue({ ...deps, log: subsystemLog(deps.log, 'audit') })
  const rejectedCalls = new RejectedCalls(queue, deps.clock)
  return { queue, rejectedCalls, secretUses: new SecretUses(queue, deps.clock, node.id) }
}
