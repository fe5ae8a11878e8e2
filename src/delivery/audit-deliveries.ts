import type { Gateway } from '../gateway/gateway.ts'
import type { AuditEntry } from '../governance/audit/entry.ts'
import { findChain, readEntriesAfter } from '../governance/audit/store.ts'
import type { RunResult } from '../platform/concurrency/repeated-task.ts'
import { decodeList } from '../platform/db/values.ts'
import { subsystemLog } from '../platform/logging/subsystem-log.ts'
import { isoNow } from '../platform/time/clock.ts'
import {
  type AuditDestination,
  findAuditDestination,
  hasPendingAuditEntries,
  listDueAuditDestinations,
  takeAuditLease,
  updateHeldAuditDestination,
} from './audit-destinations.ts'
import { sendAuditEntries } from './audit-send.ts'
import { buildLease, deliveryLease } from './lease.ts'
import { computeBackoff } from './outcome.ts'

/** Entries of one round. */
const batchSize = 100
const maxRetryAfterMs = 60 * 60_000

/** Starts to deliver to every destination of the audit log that is due. */
export async function runAuditDeliveries(gateway: Gateway): Promise<RunResult> {
  const { db, clock, delivery } = gateway
  if (!(await hasPendingAuditEntries(db))) return 'idle'
  if (delivery.tasks.free === 0) return 'busy'
  for (const id of await listDueAuditDestinations(db, isoNow(clock), delivery.tasks.free))
    void delivery.tasks.run(`audit/${id}`, () => serveDestination(gateway, id))
  return 'busy'
}

/** Serves a destination. Never throws: what fails is retried later. */
async function serveDestination(gateway: Gateway, id: string): Promise<void> {
  const { db, node, log } = gateway
  try {
    if (!(await takeAuditLease(db, id, buildLease(gateway)))) return
  } catch (err) {
    subsystemLog(log, 'delivery').warn({ err, destination: id }, 'the audit log could not be sent')
    return
  }
  const renew = () => {
    // If it fails, another node may send the same entries again, with the same ids.
    const lease_until = buildLease(gateway).until
    updateHeldAuditDestination(db, id, node.id, { lease_until }).catch(() => undefined)
  }
  const timer = setInterval(renew, deliveryLease.renewMs).unref()
  try {
    while (await deliverNext(gateway, id));
  } catch (err) {
    subsystemLog(log, 'delivery').warn(
      { err, destination: id },
      'the audit log could not be sent: it is tried again later',
    )
  } finally {
    clearInterval(timer)
    const free = { lease_owner: null, lease_until: null }
    await updateHeldAuditDestination(db, id, node.id, free).catch(() => undefined)
  }
}

/** Returns whether to continue. The settings are read again every time. */
async function deliverNext(gateway: Gateway, id: string): Promise<boolean> {
  const { db, node, delivery } = gateway
  const row = await findAuditDestination(db, id)
  if (!row || row.enabled === 0 || row.lease_owner !== node.id || delivery.tasks.isClosed) return false
  const chain = await findChain(db, row.chain_id)
  if (!chain || row.position >= chain.seq) return false
  // Retention may have deleted what was not delivered.
  const position = Math.max(row.position, chain.first_seq - 1)
  const missed = row.missed + position - row.position
  const entries = await readEntriesAfter(db, row.chain_id, position, batchSize)
  const wanted = entries.filter((entry) => isWanted(row, entry))
  const outcome = await sendAuditEntries(gateway, row, wanted)
  const { accepted, error } = outcome
  const last = error === null ? entries.at(-1) : wanted[accepted - 1]
  const progress = { position: last?.seq ?? position, missed, delivered: row.delivered + accepted }
  const now = isoNow(gateway.clock)
  if (error === null) {
    const sent = accepted > 0 && { last_success_at: now }
    const success = { ...progress, ...sent, failures: 0, retry_at: null }
    await updateHeldAuditDestination(db, id, node.id, success)
    return true
  }
  const failures = accepted > 0 ? 0 : row.failures
  const waitMs = Math.max(computeBackoff(failures), Math.min(outcome.retryAfterMs ?? 0, maxRetryAfterMs))
  await updateHeldAuditDestination(db, id, node.id, {
    ...progress,
    ...(outcome.isGone && { enabled: 0 as const }),
    failures: failures + 1,
    retry_at: new Date(gateway.clock.now() + waitMs).toISOString(),
    last_error: error,
    last_error_at: now,
  })
  return false
}

function isWanted({ action_prefixes }: AuditDestination, { action }: AuditEntry): boolean {
  const prefixes = decodeList<string>(action_prefixes)
  return prefixes === null || prefixes.some((prefix) => action.startsWith(prefix))
}
