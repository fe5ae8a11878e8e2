import { deleteExpiredContents } from './api/analytics/generations/store.ts'
import { sweepFiles } from './api/media/files/sweep.ts'
import { deleteExpiredContainers } from './containers/containers.ts'
import { runAuditDeliveries } from './delivery/audit-deliveries.ts'
import { sweepOutbox, trimQueues } from './delivery/maintenance.ts'
import { deliverNotifications } from './delivery/notifications/deliveries/deliver.ts'
import { runNotifications } from './delivery/notifications/evaluate.ts'
import { runDeliveries } from './delivery/worker.ts'
import { auditHeadsPath } from './gateway/data-dir.ts'
import { runErasures } from './gateway/erasure/run.ts'
import type { Gateway } from './gateway/gateway.ts'
import { refreshModelLists } from './gateway/refresh-model-lists.ts'
import { flushRequestLog } from './gateway/request-log.ts'
import { pollVersions } from './gateway/shared-changes.ts'
import { anchorChains } from './governance/audit/anchors.ts'
import { deleteOldEntries } from './governance/audit/retention.ts'
import { pruneIdempotencyKeys } from './http/idempotency-keys.ts'
import { deleteExpiredEntries } from './inference/cache/semantic-store.ts'
import { buildDetachedStatements } from './inference/settle/records.ts'
import { maintainBackgroundResponses } from './inference/text/background-store.ts'
import { sweepVideos } from './inference/video/sweep.ts'
import { runVideoJobs } from './inference/video/worker.ts'
import { addNestedLine } from './ledger/bill-lines.ts'
import { liveness, type OrphanOutcome } from './ledger/recovery.ts'
import { RepeatedTask, type RunResult } from './platform/concurrency/repeated-task.ts'
import { isPostgres, listenToChanges, readDatabaseTime } from './platform/db/db.ts'
import { maintainMonths } from './platform/db/monthly/maintenance.ts'
import { subsystemLog } from './platform/logging/subsystem-log.ts'
import { usdFromNanos } from './platform/money/money.ts'
import { rootCauseMessage } from './platform/root-cause.ts'
import { isoNow, RemoteClock } from './platform/time/clock.ts'
import { moveContents } from './storage/content-packs.ts'
import { indexContents } from './storage/content-search/index-contents.ts'
import { deleteExpiredConversations } from './storage/conversations.ts'
import { trimComparisons } from './storage/shadows/comparison-store.ts'
import { deleteExpiredResponses } from './storage/stored-responses.ts'

interface Job {
  name: string
  everyMs: number
  /** Runs the job, which rests after it has returned `idle`. */
  run: (gateway: Gateway) => Promise<unknown>
  /** A change of these tables by this process wakes it. */
  tables?: readonly string[]
  /** Interval on SQLite, where there are no other nodes; null if only they need the job. */
  singleNodeMs?: number | null
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const rollUpMs = 5000
/** A generation that is rolled up is sent to ClickHouse within about this time. */
const exportMs = 5000
/** A few generations wait this long for more before they are rolled up. */
const smallRollUpMs = 15 * minuteMs
/** Delay after midnight until a day is published, apart from its last roll-up. */
const publishMs = 10 * minuteMs
/** Catalog overrides and imported benchmarks are in effect on every node within two seconds. */
const versionSyncMs = 1000
/** Interval without other nodes, where only commands change these versions: they import results of benchmarks. */
const commandSyncMs = 5000
/**
 * Delay after which a job at rest notices work of another process. Beside a server on SQLite, that is only a command,
 * which leaves nothing for these jobs but entries of the audit log.
 */
const restMs = { cluster: 10_000, single: minuteMs }
/** A video job is polled within about this time after it is due. */
const videoSyncMs = 1000
/** An event of any node is delivered, and a failed delivery is retried, within about this time after it is due. */
const deliverySyncMs = 1000
const queueSyncMs = 10_000
/** A rejection that was only counted is recorded within about this time after its minute. */
const rejectedSyncMs = 10_000
/** Delay until the request log retries a failed write. */
const requestLogMs = 500
/** A response is canceled by any node within about this time. */
const backgroundSyncMs = 1000

/** Another slice of an erasure begins within about this time. */
const erasureSyncMs = 1000

const deliveryJob = 'deliveries'
const requestLogJob = 'request log'

/** Background jobs, each at its own interval; runs of a job never overlap. */
export const jobs: readonly Job[] = [
  { name: 'heartbeat', everyMs: liveness.beatMs, run: sendHeartbeat, singleNodeMs: null },
  { name: 'orphaned holds', everyMs: liveness.beatMs, run: settleOrphanedHolds },
  {
    name: 'background responses',
    everyMs: backgroundSyncMs,
    run: maintainBackgroundResponses,
    tables: ['background_responses'],
  },
  { name: 'video jobs', everyMs: videoSyncMs, run: runVideoJobs, tables: ['video_jobs'] },
  {
    name: deliveryJob,
    everyMs: deliverySyncMs,
    run: runDeliveries,
    tables: ['destinations', 'destination_states'],
  },
  {
    name: 'audit deliveries',
    everyMs: deliverySyncMs,
    run: runAuditDeliveries,
    tables: ['audit_chains', 'audit_destinations'],
  },
  { name: 'delivery queues', everyMs: queueSyncMs, run: trimQueues, tables: ['destination_states'] },
  { name: 'notifications', everyMs: minuteMs, run: runNotifications },
  {
    name: 'notification deliveries',
    everyMs: queueSyncMs,
    run: deliverNotifications,
    tables: ['notification_deliveries'],
  },
  { name: 'versions', everyMs: versionSyncMs, run: pollVersions, singleNodeMs: commandSyncMs },
  { name: 'roll-ups', everyMs: rollUpMs, run: rollUpSegments },
  { name: 'small roll-ups', everyMs: smallRollUpMs, run: ({ rollUps }) => rollUps.rollUp({ isAll: true }) },
  { name: 'clickhouse export', everyMs: exportMs, run: exportToClickHouse },
  { name: 'datasets', everyMs: publishMs, run: publishDatasets },
  { name: 'response cache', everyMs: minuteMs, run: evictExpiredReplies },
  { name: 'semantic cache', everyMs: 5 * minuteMs, run: deleteExpiredSimilar },
  { name: 'old records', everyMs: hourMs, run: applyRetention },
  { name: 'counts of limits', everyMs: hourMs, run: ({ limitCounts }) => limitCounts.deleteEnded() },
  { name: 'months', everyMs: hourMs, run: addMonths, singleNodeMs: null },
  { name: requestLogJob, everyMs: requestLogMs, run: writeRequestLog },
  {
    name: 'rejected calls',
    everyMs: rejectedSyncMs,
    run: recordRejectedCalls,
    tables: ['audit_chains', 'refused_requests'],
  },
  { name: 'audit anchors', everyMs: minuteMs, run: anchorAuditLog },
  { name: 'audit log', everyMs: hourMs, run: applyAuditRetention },
  { name: 'health of endpoints', everyMs: minuteMs, run: saveHealth },
  { name: 'model lists', everyMs: 5 * minuteMs, run: refreshModelLists },
  { name: 'files', everyMs: hourMs, run: sweepFiles },
  { name: 'videos', everyMs: hourMs, run: sweepVideos },
  { name: 'containers', everyMs: hourMs, run: deleteExpiredContainers },
  { name: 'outbox', everyMs: hourMs, run: sweepOutbox },
  { name: 'expired responses', everyMs: hourMs, run: deleteExpiredResponses },
  { name: 'expired conversations', everyMs: hourMs, run: deleteExpiredConversations },
  { name: 'idempotency keys', everyMs: 5 * minuteMs, run: pruneIdempotencyKeys },
  { name: 'contents to the bucket', everyMs: minuteMs, run: moveContents },
  { name: 'content search', everyMs: 2 * minuteMs, run: (gateway) => indexContents(gateway) },
  { name: 'erasures', everyMs: erasureSyncMs, run: runErasures, tables: ['erasures'] },
  { name: 'comparisons of shadows', everyMs: hourMs, run: trimComparisons },
  { name: 'expired contents', everyMs: hourMs, run: deleteExpiredContents },
]

/** Interval at which each job logs its failure during an outage, instead of at every run. */
const failureLogIntervalMs = hourMs

/** Rare jobs are not urgent: a start is faster without them. */
const rareJobMs = 5 * minuteMs

/** Returns what ends them. */
export function startJobs(gateway: Gateway): () => void {
  const tasks = listJobs(gateway).map((job) => {
    const task = new RepeatedTask({
      run: () => runJob(gateway, job),
      everyMs: job.everyMs,
      restMs: restMsOf(gateway, job),
      onError: createFailureLog(gateway, job.name),
    })
    if (job.tables) listenToChanges(gateway.db, job.tables, () => task.wake())
    // Events are stored by the ledger.
    if (job.name === deliveryJob) gateway.delivery.signal.listen(() => task.runNow())
    if (job.name === requestLogJob) gateway.requestLog.signal.listen(() => task.runNow())
    task.start(job.everyMs > rareJobMs ? minuteMs : 0)
    return task
  })
  return () => {
    for (const task of tasks) task.stop()
  }
}

async function runJob(gateway: Gateway, { name, run }: Job): Promise<RunResult> {
  const startedAt = performance.now()
  let hasFailed = true
  try {
    const result = await run(gateway)
    hasFailed = false
    return result === 'idle' ? 'idle' : 'busy'
  } finally {
    gateway.metrics.system.recordJob(name, (performance.now() - startedAt) / 1000, hasFailed)
  }
}

/** Lists the jobs that this gateway needs, with their intervals. */
export function listJobs({ db, config, metrics }: Gateway): readonly Job[] {
  const { metricsExport } = config
  const run = async () => metrics.exporter?.export()
  const exports = metricsExport ? [{ name: 'metrics export', everyMs: metricsExport.intervalMs, run }] : []
  const all: readonly Job[] = [...jobs, ...exports]
  if (isPostgres(db)) return all
  return all.flatMap(({ singleNodeMs, everyMs, ...job }) =>
    singleNodeMs === null ? [] : [{ ...job, everyMs: singleNodeMs ?? everyMs }],
  )
}

/** Time between two runs of a job without work. */
export function restMsOf({ db }: Gateway, { everyMs }: Job): number {
  return Math.max(isPostgres(db) ? restMs.cluster : restMs.single, everyMs)
}

function createFailureLog({ log }: Gateway, job: string): (err: unknown) => void {
  let loggedAt = Number.NEGATIVE_INFINITY
  return (err) => {
    if (performance.now() - loggedAt <= failureLogIntervalMs) return
    subsystemLog(log, 'jobs').warn({ err, job }, 'job failed')
    loggedAt = performance.now()
  }
}

/** Additions wake it. */
async function writeRequestLog(gateway: Gateway): Promise<RunResult> {
  await flushRequestLog(gateway)
  return 'idle'
}

/** Rests while there are too few generations for a segment, and no more on their way. */
async function rollUpSegments({ rollUps, ledger }: Gateway): Promise<RunResult> {
  return (await rollUps.rollUp()) || ledger.unflushedBytes ? 'busy' : 'idle'
}

/** Rests only without ClickHouse: what it has to send is queued by another thread. */
export async function exportToClickHouse(gateway: Gateway): Promise<RunResult> {
  const { clickhouse, rollUps, node, clock, log } = gateway
  if (!clickhouse) return 'idle'
  const { outcome, problem } = await rollUps.exportGenerations(clock.now(), node.id)
  if (problem !== null && clickhouse.status.problem !== problem)
    subsystemLog(log, 'jobs').warn(
      { problem },
      'generations not sent to ClickHouse; they stay queued in the database',
    )
  if (outcome !== 'other node') clickhouse.recordExport(problem)
  return 'busy'
}

async function saveHealth({ healthHistory }: Gateway): Promise<RunResult> {
  return (await healthHistory.save()) ? 'busy' : 'idle'
}

async function evictExpiredReplies({ responseCache, clock }: Gateway): Promise<void> {
  responseCache.evictExpired(clock.now())
}

function deleteExpiredSimilar({ db, clock }: Gateway): Promise<void> {
  return deleteExpiredEntries(db, isoNow(clock))
}

function publishDatasets({ rollUps, clock, settings }: Gateway): Promise<void> {
  return rollUps.publish(clock.now(), settings.records.retention_days)
}

function applyRetention({ rollUps, clock, settings }: Gateway): Promise<void> {
  const { retention_days, posting_days, delete_by } = settings.records
  const ages = { retentionDays: retention_days, postingDays: posting_days ?? retention_days }
  return rollUps.runMaintenance(clock.now(), { ...ages, isByMonth: delete_by === 'month' })
}

function addMonths({ db, config, clock }: Gateway): Promise<void> {
  return maintainMonths(db, config.databaseUrl, clock.now())
}

/**
 * Records rejections that were only counted, after their minute. The first of a minute is recorded at once, which wakes
 * this.
 */
async function recordRejectedCalls(gateway: Gateway): Promise<RunResult> {
  const { audit, requestLog } = gateway
  audit.rejectedCalls.sweep()
  await audit.queue.flush()
  await flushRequestLog(gateway)
  return audit.rejectedCalls.isCounting || audit.queue.isWaiting || requestLog.rejected.isCounting
    ? 'busy'
    : 'idle'
}

function applyAuditRetention(gateway: Gateway): Promise<void> {
  return deleteOldEntries(gateway, gateway.settings.audit.retention_days)
}

/** Manipulations of entries older than this job's interval are noticed. */
export function anchorAuditLog(gateway: Gateway): Promise<void> {
  return anchorChains(gateway, auditHeadsPath(gateway.config))
}

/** Recorded by the clock of the database, which all nodes share. */
export async function sendHeartbeat({ db, node, clock, config }: Gateway): Promise<void> {
  if (clock instanceof RemoteClock) await clock.sync(() => readDatabaseTime(db))
  await node.sendHeartbeat(db, isoNow(clock))
  if (config.redis) await node.countLiveNodes(db, isoNow(clock))
}

/** Settles holds of nodes that stopped without settling them. Without other nodes, only this one's expire. */
export async function settleOrphanedHolds(gateway: Gateway): Promise<RunResult> {
  const { db, ledger, node, clock, log } = gateway
  const taken = (await ledger.takeOverLeases()) ?? 0
  if (taken > 0) subsystemLog(log, 'jobs').warn({ nodes: taken }, 'leases of dead nodes taken over')
  const outcome = await node.settleOrphans(db, ledger, isoNow(clock), (generation) =>
    buildDetachedStatements(gateway, generation, {
      input: null,
      errorMessage: 'The gateway was stopped before the reply had ended.',
    }),
  )
  for (const nested of outcome.nested) await addNestedLine(db, nested)
  reportOrphans(gateway, outcome)
  return isPostgres(db) ? 'busy' : 'idle'
}

/** The rest is in the list of requests. */
const maxUnrecoveredLogged = 20

export function reportOrphans({ log, metrics }: Gateway, { settled, unrecovered }: OrphanOutcome): void {
  metrics.recordInterrupted('settled', settled)
  metrics.recordInterrupted('unrecovered', unrecovered.length)
  if (settled > 0) subsystemLog(log, 'jobs').warn({ settled }, 'orphaned holds settled')
  if (unrecovered.length === 0) return
  for (const { id, failure, held, cause } of unrecovered.slice(0, maxUnrecoveredLogged))
    subsystemLog(log, 'jobs').error(
      { generationId: id, failure, held_usd: usdFromNanos(held), reason: rootCauseMessage(cause) },
      'an interrupted request could not be charged',
    )
  subsystemLog(log, 'jobs').error(
    { unrecovered: unrecovered.length },
    'interrupted requests were recorded without a charge',
  )
}
