import { deleteExpiredConversations } from '../account/conversations.ts'
import { deleteExpiredResponses } from '../account/stored-responses.ts'
import { sweepFiles } from '../areas/files/sweep.ts'
import { deleteExpiredContents } from '../areas/generations/store.ts'
import { deleteOldEntries } from '../audit/retention.ts'
import { readDatabaseTime } from '../db/db.ts'
import { runAuditDeliveries } from '../delivery/audit-deliveries.ts'
import { sweepOutbox, trimQueues } from '../delivery/maintenance.ts'
import { runDeliveries } from '../delivery/worker.ts'
import { usdFromNanos } from '../ledger/money.ts'
import { liveness, type OrphanOutcome } from '../ledger/recovery.ts'
import { isoNow, RemoteClock } from '../lib/clock.ts'
import { rootCauseMessage } from '../lib/root-cause.ts'
import { deliverNotifications } from '../notifications/deliveries/deliver.ts'
import { runNotifications } from '../notifications/evaluate.ts'
import { maintainBackgroundResponses } from '../pipeline/reply/background-store.ts'
import { buildDetachedStatements } from '../pipeline/settlement/records.ts'
import { sweepVideos } from '../pipeline/video/sweep.ts'
import { runVideoJobs } from '../pipeline/video/worker.ts'
import { deleteExpiredContainers } from './containers.ts'
import type { Gateway } from './gateway.ts'
import { pollOverrides } from './reload.ts'
import { flushRequestLog } from './request-log.ts'

interface Job {
  name: string
  everyMs: number
  run: (gateway: Gateway) => Promise<unknown>
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const rollUpMs = 5000
/** A few generations wait this long for more before they are rolled up. */
const smallRollUpMs = 15 * minuteMs
/** How long after midnight a day is published, apart from its last roll-up. */
const publishMs = 10 * minuteMs
/** A catalogue override is in effect on every node within two seconds. */
const catalogueSyncMs = 1000
/** Imported benchmarks are in effect on every node within about this time. */
const benchmarkSyncMs = 2000
/** A video job is polled within about this time after it is due. */
const videoSyncMs = 1000
/** An event of any node is delivered, and a failed delivery is retried, within about this time after it is due. */
const deliverySyncMs = 1000
const queueSyncMs = 10_000
/** A refusal that was only counted is recorded within about this time after its minute. */
const refusalSyncMs = 10_000
/** A refused request is in the list within about this time. */
const requestLogMs = 500
/** A response is cancelled by any node within about this time. */
const backgroundSyncMs = 1000

/** Background jobs, each at its own interval; runs of a job never overlap. */
const jobs: Job[] = [
  { name: 'heartbeat', everyMs: liveness.beatMs, run: sendHeartbeat },
  { name: 'orphaned holds', everyMs: liveness.beatMs, run: settleOrphanedHolds },
  { name: 'background responses', everyMs: backgroundSyncMs, run: maintainBackgroundResponses },
  { name: 'video jobs', everyMs: videoSyncMs, run: runVideoJobs },
  { name: 'deliveries', everyMs: deliverySyncMs, run: runDeliveries },
  { name: 'audit deliveries', everyMs: deliverySyncMs, run: runAuditDeliveries },
  { name: 'delivery queues', everyMs: queueSyncMs, run: trimQueues },
  { name: 'notifications', everyMs: minuteMs, run: runNotifications },
  { name: 'notification deliveries', everyMs: queueSyncMs, run: deliverNotifications },
  { name: 'catalogue', everyMs: catalogueSyncMs, run: pollOverrides },
  { name: 'benchmarks', everyMs: benchmarkSyncMs, run: ({ benchmarks, db }) => benchmarks.poll(db) },
  { name: 'roll-ups', everyMs: rollUpMs, run: ({ rollUps }) => rollUps.rollUp() },
  { name: 'small roll-ups', everyMs: smallRollUpMs, run: ({ rollUps }) => rollUps.rollUp({ isAll: true }) },
  { name: 'datasets', everyMs: publishMs, run: publishDatasets },
  { name: 'response cache', everyMs: minuteMs, run: evictExpiredReplies },
  { name: 'old records', everyMs: hourMs, run: applyRetention },
  { name: 'request log', everyMs: requestLogMs, run: (gateway) => flushRequestLog(gateway) },
  { name: 'refusals', everyMs: refusalSyncMs, run: recordRefusals },
  { name: 'audit log', everyMs: hourMs, run: applyAuditRetention },
  { name: 'files', everyMs: hourMs, run: sweepFiles },
  { name: 'videos', everyMs: hourMs, run: sweepVideos },
  { name: 'containers', everyMs: hourMs, run: deleteExpiredContainers },
  { name: 'outbox', everyMs: hourMs, run: sweepOutbox },
  { name: 'expired responses', everyMs: hourMs, run: deleteExpiredResponses },
  { name: 'expired conversations', everyMs: hourMs, run: deleteExpiredConversations },
  { name: 'expired contents', everyMs: hourMs, run: deleteExpiredContents },
]

/** During an outage each job logs its failure once an hour, not at every run. */
const failureLogIntervalMs = hourMs

/** Rare jobs are not urgent: a start is faster without them. */
const rareJobMs = 5 * minuteMs

export function startJobs(gateway: Gateway): void {
  for (const job of jobs) void runRepeatedly(gateway, job)
  // A failure is logged by the job, which repeats it.
  gateway.deliverySignal.listen(() => void runDeliveries(gateway).catch(() => undefined))
}

async function runRepeatedly(gateway: Gateway, { name, everyMs, run }: Job): Promise<never> {
  let loggedAt = Number.NEGATIVE_INFINITY
  if (everyMs > rareJobMs) await sleep(minuteMs)
  for (;;) {
    try {
      await run(gateway)
    } catch (err) {
      if (performance.now() - loggedAt > failureLogIntervalMs)
        gateway.log.warn({ err, job: name }, 'job failed')
      loggedAt = performance.now()
    }
    await sleep(everyMs)
  }
}

/** Does not keep the process alive. */
function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}

async function evictExpiredReplies({ responseCache, clock }: Gateway): Promise<void> {
  responseCache.evictExpired(clock.now())
}

function publishDatasets({ rollUps, clock, settings }: Gateway): Promise<void> {
  return rollUps.publish(clock.now(), settings.records.retention_days)
}

function applyRetention({ rollUps, clock, settings }: Gateway): Promise<void> {
  const { retention_days, posting_days } = settings.records
  const ages = { retentionDays: retention_days, postingDays: posting_days ?? retention_days }
  return rollUps.runMaintenance(clock.now(), ages)
}

async function recordRefusals({ refusals, auditQueue }: Gateway): Promise<void> {
  refusals.sweep()
  await auditQueue.flush()
}

function applyAuditRetention(gateway: Gateway): Promise<void> {
  return deleteOldEntries(gateway, gateway.settings.audit.retention_days)
}

/** Recorded by the clock of the database, which all nodes share. */
export async function sendHeartbeat({ db, node, clock }: Gateway): Promise<void> {
  if (clock instanceof RemoteClock) await clock.sync(() => readDatabaseTime(db))
  await node.sendHeartbeat(db, isoNow(clock))
}

/** Settles holds of nodes that stopped without settling them. */
export async function settleOrphanedHolds(gateway: Gateway): Promise<void> {
  const { db, ledger, node, clock } = gateway
  const outcome = await node.settleOrphans(db, ledger, isoNow(clock), (generation) =>
    buildDetachedStatements(gateway, generation, {
      input: null,
      errorMessage: 'The gateway was stopped before the reply had ended.',
    }),
  )
  reportOrphans(gateway, outcome)
}

/** The rest is in the list of requests. */
const maxUnrecoveredLogged = 20

export function reportOrphans({ log, metrics }: Gateway, { settled, unrecovered }: OrphanOutcome): void {
  metrics.recordInterrupted('settled', settled)
  metrics.recordInterrupted('unrecovered', unrecovered.length)
  if (settled > 0) log.warn({ settled }, 'interrupted requests settled')
  if (unrecovered.length === 0) return
  for (const { id, failure, held, cause } of unrecovered.slice(0, maxUnrecoveredLogged))
    log.error(
      { id, failure, held_usd: usdFromNanos(held), reason: rootCauseMessage(cause) },
      'an interrupted request could not be charged',
    )
  log.error({ unrecovered: unrecovered.length }, 'interrupted requests were recorded without a charge')
}
