import { isatty } from 'node:tty'
import { anchorChains } from '../governance/audit/anchors.ts'
import { headsFilePath } from '../governance/audit/heads-file.ts'
import { closeDb } from '../platform/db/db.ts'
import type { Gateway } from './gateway.ts'
import { flushRequestLog } from './request-log.ts'
import { recordServerEvent } from './server-events.ts'

/** Default delay, longer than most balancers take to notice that a node is not ready. */
const drainDelayMs = 5000
/** Time for aborted replies to be settled and sent. */
const abortGraceMs = 5000

interface StoppableServer {
  /** Closes the port and waits for the requests in flight, or ends them. */
  stop(isForced?: boolean): Promise<void>
}

/** A terminal sends Ctrl-C to the whole process group, so one signal may arrive twice: only a later one forces the exit. */
export async function waitForStopSignal(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let firstAt = 0
  const stop = () => {
    if (firstAt === 0) firstAt = Date.now()
    else if (Date.now() - firstAt > 1000) process.exit(130)
    resolve()
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  // The launcher has exited and can no longer forward signals.
  process.on('disconnect', stop)
  await promise
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

export async function shutDown(
  gateway: Gateway,
  server: StoppableServer,
  stopJobs: () => void,
): Promise<void> {
  const { drain } = gateway.settings.limits
  const abortTimer = setTimeout(() => {
    for (const exchange of gateway.upstreams.exchanges) exchange.stop()
  }, drain)
  const deadline = setTimeout(() => void server.stop(true), drain + abortGraceMs)
  await Promise.all([
    server.stop(),
    gateway.backgroundRuns.drain(drain),
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
  await gateway.ledger.close()
  await flushRequestLog(gateway, true).catch(() => undefined)
  gateway.audit.rejectedCalls.sweep(true)
  await gateway.audit.queue.flush()
  // The database may be unavailable.
  await recordServerEvent(gateway, 'server.stop').catch(() => undefined)
  await anchorChains(gateway, headsFilePath(gateway.config.dataDir)).catch((err: unknown) =>
    gateway.log.warn({ err }, 'audit log not anchored'),
  )
  stopJobs()
  await gateway.node.deregister(gateway.db).catch(() => undefined)
  await gateway.cluster.close()
  await closeDb(gateway.db)
}
