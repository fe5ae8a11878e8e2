import { isatty } from 'node:tty'
import { anchorChains } from '../governance/audit/anchors.ts'
import { closeDb } from '../platform/db/db.ts'
import { auditHeadsPath } from './data-dir.ts'
import type { Gateway } from './gateway.ts'
import { flushRequestLog } from './request-log.ts'
import { recordServerEvent } from './server-events.ts'

/** Default delay, longer than most balancers take to notice that a node is not ready. */
const drainDelayMs = 5000
/** Time in which clients send the first request of a connection, whatever `limits.drain_delay` is. */
const minHandoverMs = 1000
/** Time for aborted replies to be settled and sent. */
const abortGraceMs = 5000
/** Time for the last export of metrics. */
const exportTimeoutMs = 5000

interface StoppableServer {
  /** Closes the port and waits for the requests in flight, or ends them. */
  stop(isForced?: boolean): Promise<void>
}

/** The batches and mails in flight are finished; a batch that is not sent by then is sent after the next start. */
async function endDeliveries({ delivery, mailer, settings }: Gateway): Promise<void> {
  const { promise: timeout, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, settings.limits.drain)
  await Promise.race([Promise.all([delivery.tasks.close(), mailer.idle()]), timeout])
  clearTimeout(timer)
}

/**
 * Balancers send requests until they have noticed that this node is not ready. Until then requests are served, and each
 * response ends its connection. Streams that have no end of their own end now.
 */
export async function waitForBalancers(gateway: Gateway): Promise<void> {
  gateway.log.info('draining')
  gateway.isDraining = true
  gateway.requestLog.followers.close()
  const isInTerminal = isatty(0) || isatty(1)
  await Bun.sleep(gateway.settings.limits.drain_delay ?? (isInTerminal ? 0 : drainDelayMs))
}

/**
 * Ends the connections of a worker that is replaced: other workers accept new ones, and each response from now on ends
 * its connection. One that is idle for all of this time is closed.
 */
export async function handOverClients(gateway: Gateway): Promise<void> {
  gateway.log.info('draining for a restart')
  gateway.worker?.stopAccepting()
  gateway.isDraining = true
  gateway.requestLog.followers.close()
  await Bun.sleep(Math.max(minHandoverMs, gateway.settings.limits.drain_delay ?? drainDelayMs))
}

export async function shutDown(
  gateway: Gateway,
  server: StoppableServer,
  stopJobs: () => void,
): Promise<void> {
  const { drain } = gateway.settings.limits
  const abortTimer = setTimeout(() => {
    for (const exchange of gateway.upstreams.exchanges) exchange.stop()
    gateway.upstreams.rates.stop()
  }, drain)
  const deadline = setTimeout(() => void server.stop(true), drain + abortGraceMs)
  await Promise.all([
    server.stop(),
    gateway.backgroundRuns.drain(drain),
    gateway.mirrors.close(drain),
    gateway.videoTasks.close(),
    endDeliveries(gateway),
  ])
  clearTimeout(abortTimer)
  clearTimeout(deadline)
  gateway.scanner.stop()
  gateway.readers.pdf.stop()
  gateway.readers.html.stop()
  await gateway.containers?.close()
  gateway.jsonRepairer.stop()
  gateway.readers.office.stop()
  await gateway.tracer?.exporter.close()
  await gateway.metrics.exporter?.export(exportTimeoutMs).catch(() => undefined)
  await gateway.ledger.close()
  await flushRequestLog(gateway, true).catch(() => undefined)
  await gateway.limitCounts.close()
  await gateway.healthHistory.save().catch(() => undefined)
  gateway.audit.rejectedCalls.sweep(true)
  await gateway.audit.queue.flush()
  // The database may be unavailable.
  await recordServerEvent(gateway, 'server.stop').catch(() => undefined)
  await anchorChains(gateway, auditHeadsPath(gateway.config)).catch((err: unknown) =>
    gateway.log.warn({ err }, 'audit log not anchored'),
  )
  stopJobs()
  await gateway.node.deregister(gateway.db).catch(() => undefined)
  await gateway.cluster.close()
  await gateway.replica?.close()
  await closeDb(gateway.db)
}
