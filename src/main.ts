import { writeFileSync } from 'node:fs'
import type { Logger } from 'pino'
import { resolveSiteUrl } from './access/site-url.ts'
import { TaskSampler } from './analytics/classifier/task-sampler.ts'
import { operationGroups, pageGroups } from './api/all.ts'
import { Benchmarks } from './catalog/benchmarks/benchmarks.ts'
import { DiscoveredModels } from './catalog/discovery/lists.ts'
import { HealthHistory } from './catalog/health/health-history.ts'
import { readOverrides } from './catalog/store.ts'
import { openSharedState } from './cluster/open-cluster.ts'
import { type Config, ConfigError } from './config.ts'
import { createContainers } from './containers/containers.ts'
import { releaseAuditLeases } from './delivery/audit-destinations.ts'
import { releaseDeliveryLeases } from './delivery/destination-states.ts'
import { openAnalytics } from './gateway/analytics.ts'
import { bootstrapOrganization, hasMatchingVaultKey, syncEnvironmentKey } from './gateway/bootstrap.ts'
import {
  findExposedSecretFile,
  loadMasterSecret,
  lockDatabase,
  lockDataDir,
  prepareDataDir,
  prepareWorkerDir,
  siteFilePath,
} from './gateway/data-dir.ts'
import type { Gateway } from './gateway/gateway.ts'
import { createIdentity } from './gateway/identity.ts'
import { openLog } from './gateway/logger.ts'
import { Metrics } from './gateway/metrics.ts'
import { MetricsExporter } from './gateway/metrics-export/metrics-exporter.ts'
import {
  assertModerationModel,
  composeCatalog,
  logOverrideProblems,
  reloadSettings,
} from './gateway/reload.ts'
import { createRequestLog } from './gateway/request-log.ts'
import { reloadEnvironment } from './gateway/secret-managers/resolve.ts'
import {
  describeServer,
  describeServerEvent,
  listChangedSections,
  recordServerEvent,
} from './gateway/server-events.ts'
import { readSettings } from './gateway/settings.ts'
import { shareChanges } from './gateway/shared-changes.ts'
import { handOverClients, shutDown, waitForBalancers } from './gateway/shutdown.ts'
import { adoptSpooledCharges } from './gateway/spooled-charges.ts'
import { createUpstreamServices } from './gateway/upstream-services.ts'
import type { WorkerLink } from './gateway/worker-link.ts'
import { createAuditRecorders } from './governance/audit/recorders.ts'
import { PdfReader } from './governance/filters/pdf-reader.ts'
import { ContentScanner } from './governance/filters/scanner.ts'
import { applyLimitSettings } from './governance/limits/apply-settings.ts'
import { LimitCounts } from './governance/limits/counts.ts'
import { consolePage, consoleRoutes } from './http/console/routes.ts'
import { docsRoutes } from './http/docs/routes.ts'
import { toRouteGroup } from './http/routes.ts'
import { assertPortFree, listen, type Server } from './http/server.ts'
import { buildSystemRoutes, isReady } from './http/system-routes.ts'
import { CheckRunner } from './inference/guard/checks/runner.ts'
import { createRouting } from './inference/routing/sharing.ts'
import { MirrorQueue } from './inference/shadow/mirror-queue.ts'
import { HtmlReader } from './inference/web/html-reader.ts'
import { sendHeartbeat, settleOrphanedHolds, startJobs } from './jobs.ts'
import { createLedger } from './ledger/create-ledger.ts'
import { JournalError } from './ledger/journal-segment.ts'
import { ClusterNode, migrationLeaseMs } from './ledger/recovery.ts'
import { BackgroundRuns } from './platform/concurrency/background-runs.ts'
import { ByteCache } from './platform/concurrency/byte-cache.ts'
import { TaskPool } from './platform/concurrency/task-pool.ts'
import { WakeSignal } from './platform/concurrency/wake-signal.ts'
import { Vault } from './platform/crypto/crypto.ts'
import { closeDb, type Db, isPostgresUrl, openDb, setReadBarrier } from './platform/db/db.ts'
import { StatementWriter } from './platform/db/statement-writer.ts'
import { assertKnownSchema, upgrade } from './platform/db/upgrade.ts'
import { JsonRepairer } from './platform/json/json-repairer.ts'
import { subsystemLog } from './platform/logging/subsystem-log.ts'
import { Mailer } from './platform/mail/mailer.ts'
import { OfficeReader } from './platform/media/office-reader.ts'
import { nanosFromUsd } from './platform/money/money.ts'
import { waitForStopSignal } from './platform/process/stop-signal.ts'
import { rootCauseMessage } from './platform/root-cause.ts'
import { type Clock, RemoteClock, systemClock } from './platform/time/clock.ts'
import { CoarseTimer } from './platform/time/coarse-timer.ts'
import { TimeSlicer } from './platform/time/time-slicer.ts'
import { openTracer } from './platform/tracing/open-tracer.ts'
import { version } from './platform/version.ts'
import { formatStartupMessage } from './startup-message.ts'
import { ResponseQuota } from './storage/response-quota.ts'
import { releaseLeases } from './storage/video-jobs.ts'

const maxVideoTasks = 16
/** Destinations that are sent to at the same time. */
const maxDeliveryTasks = 64
/** Delay between the end of a request and its delivery: SQLite takes a moment to flush the journal. */
const deliveryDelayMs = 300

/** The composition root: the only module that knows every component. */
export async function openGateway(
  config: Config,
  clock: Clock = createClock(config),
  queryTimeoutMs?: number,
): Promise<Gateway> {
  const settings = readSettings(config)
  assertModerationModel({ config, settings })
  prepareDataDir(config.dataDir)
  const vault = new Vault(loadMasterSecret(config.dataDir, config.secretKey))
  const log = openLog(config, settings)
  warnExposedSecret(config, log)
  const db = await openDatabase(config, { vault, log, queryTimeoutMs })
  const catalogState = await openCatalog({ config, settings, vault, log, db })
  const [metrics, timer, responseCache] = [new Metrics(), new CoarseTimer(), new ByteCache()]
  const node = new ClusterNode(!isPostgresUrl(config.databaseUrl))
  const sharedState = await openShared(config, { db, clock, log, node })
  const ledgerState = { ...sharedState, clock, log, nodeId: node.id, settings: () => gateway.settings }
  const ledger = createLedger({ ...config, ...ledgerState })
  setReadBarrier(db, () => ledger.flush())
  const tracer = config.tracing && (await openTracer(config.tracing, { clock, log, metrics }))
  const gateway: Gateway = {
    config,
    db,
    clock,
    log,
    vault,
    metrics,
    tracer,
    connections: null,
    ledger,
    statementWriter: new StatementWriter(db),
    timer,
    requestLog: createRequestLog({ db, clock, timer, log }),
    checks: new CheckRunner({ clock, vault, allowPrivate: () => gateway.settings.egress.allow_private }),
    readers: { pdf: new PdfReader(), html: new HtmlReader(), office: new OfficeReader() },
    ...{ scanner: new ContentScanner(), jsonRepairer: new JsonRepairer() },
    node,
    ...sharedState,
    audit: createAuditRecorders({ db, clock, vault, log }, node),
    ...openAnalytics({ config, db, clock, metrics, node }),
    timeSlicer: new TimeSlicer(),
    taskSampler: new TaskSampler(),
    ...(await openRouting({ db, clock, ...sharedState })),
    benchmarks: await Benchmarks.open(db),
    upstreams: createUpstreamServices(clock, metrics),
    ...createIdentity({ db, clock, vault, ...sharedState, settings: () => gateway.settings }),
    mailer: new Mailer(),
    ...{ responseCache, semanticVectors: new ByteCache() },
    ...{ backgroundRuns: new BackgroundRuns(), mirrors: new MirrorQueue() },
    videoTasks: new TaskPool(maxVideoTasks),
    delivery: { tasks: new TaskPool(maxDeliveryTasks), signal: new WakeSignal(deliveryDelayMs) },
    responseQuota: new ResponseQuota(db, (err) => log.warn({ err }, 'stored responses not trimmed')),
    containers: null,
    isDraining: false,
    settings,
    ...catalogState,
  }
  shareChanges(gateway)
  registerGauges(gateway)
  return Object.assign(gateway, { containers: createContainers(gateway) })
}

/** What this process shares with other workers and nodes. A process that serves alone loads nothing for workers. */
async function openShared(config: Config, deps: Pick<Gateway, 'db' | 'clock' | 'log' | 'node'>) {
  const { node } = deps
  const log = subsystemLog(deps.log, 'cluster')
  const isWorker = config.workers.own !== null
  const worker = isWorker
    ? (await import('./gateway/worker-link.ts')).openWorkerLink(config.workers, log)
    : null
  const workerCluster = worker?.cluster ?? null
  const liveNodes = () => node.liveNodes
  const state = await openSharedState(config, { log, liveNodes, workerCluster })
  return { worker, ...state, limitCounts: new LimitCounts({ ...state, ...deps }) }
}

/** Routing, with what earlier processes have learned about endpoints. */
async function openRouting({ db, clock, cluster }: Pick<Gateway, 'db' | 'clock' | 'cluster'>) {
  const routing = createRouting(cluster, clock)
  return { routing, healthHistory: await HealthHistory.open({ db, clock, health: routing.health }) }
}

function registerGauges(gateway: Gateway): void {
  const { config, metrics, ledger, responseCache, cluster, settings, node } = gateway
  if (config.metricsExport)
    metrics.exporter = new MetricsExporter(config.metricsExport, node.id, () => metrics.collect())
  metrics.registerConnections(() => gateway.connections)
  metrics.registerLedger(ledger)
  metrics.registerCache(responseCache)
  metrics.registerCluster(cluster.status)
  metrics.models.configure(settings.metrics)
  metrics.system.register(gateway)
}

function warnExposedSecret({ dataDir, secretKey }: Config, log: Logger): void {
  const path = findExposedSecretFile(dataDir, secretKey)
  if (path) log.warn(`${path} is readable by other users; run: chmod 600 ${path}`)
}

/** The catalog with the operator's changes to it. Problems are logged. */
async function openCatalog(deps: Pick<Gateway, 'config' | 'settings' | 'vault' | 'log' | 'db'>) {
  const discovered = await DiscoveredModels.open(deps.db)
  const composed = composeCatalog({ ...deps, discovered }, await readOverrides(deps.db))
  const state = { ...composed, discovered }
  logOverrideProblems({ ...deps, ...state })
  warnUnusableCredentials({ ...deps, ...state })
  return state
}

/** Warns only: an unusable credential in the environment may belong to another program. */
function warnUnusableCredentials({ catalog, log }: Pick<Gateway, 'catalog' | 'log'>): void {
  for (const { slug, installation } of catalog.providers) {
    if (installation.problem !== null)
      log.warn({ provider: slug, problem: installation.problem }, 'credential not used')
  }
}

/** Nodes that share a PostgreSQL database use its clock, so that their windows agree. */
function createClock({ databaseUrl }: Config): Clock {
  return isPostgresUrl(databaseUrl) ? new RemoteClock() : systemClock
}

/** Migrates the database and verifies that its secrets are encrypted with this key. */
async function openDatabase(
  { databaseUrl: url, databasePoolSize: poolSize }: Config,
  { vault, log, queryTimeoutMs }: { vault: Vault; log: Logger; queryTimeoutMs: number | undefined },
): Promise<Db> {
  let db: Db | undefined
  try {
    db = openDb(url, { queryTimeoutMs, poolSize })
    await upgrade(db, { url, nodeTimeoutMs: migrationLeaseMs, log })
    if (await hasMatchingVaultKey(db, vault)) return db
  } catch (error) {
    if (db) await closeDb(db)
    throw databaseError(error)
  }
  await closeDb(db)
  throw new ConfigError(
    'The secret key does not match this database. Set HEADGATE_SECRET_KEY to the key it was created with.',
  )
}

function databaseError(error: unknown): ConfigError {
  return new ConfigError(`Cannot open the database: ${rootCauseMessage(error)}`)
}

export function startServer(gateway: Gateway): Server {
  const routes = [...pageGroups, toRouteGroup([...consoleRoutes, ...docsRoutes, ...buildSystemRoutes()])]
  const server = listen(gateway, operationGroups, routes, consolePage)
  gateway.worker?.acceptWith(server)
  gateway.connections = server
  return server
}

/** Reloads headgate.yaml and the secrets of files and secret managers. After an error, what is in effect remains. */
export async function reloadGateway(gateway: Gateway): Promise<void> {
  try {
    const environment = await reloadEnvironment(gateway.config)
    const before = gateway.settings
    reloadSettings(gateway, environment)
    await applyLimitSettings(gateway, gateway.settings, describeServer(gateway))
    warnUnusableCredentials(gateway)
    gateway.log.info('headgate.yaml reloaded')
    const sections = listChangedSections(before, gateway.settings)
    gateway.audit.queue.add(async () => describeServerEvent(gateway, 'settings.reload', { sections }))
  } catch (error) {
    gateway.log.error({ problem: rootCauseMessage(error) }, 'reload of headgate.yaml failed')
  }
}

/** Runs until a stop signal. The port is checked first: the keys of the first start are shown only once. */
export async function serve(config: Config): Promise<void> {
  prepareDataDir(config.dataDir)
  if (config.workers.own !== null) prepareWorkerDir(config)
  const unlockDataDir = lockDataDir(config.nodeDir)
  const unlockDatabase = isPostgresUrl(config.databaseUrl) ? null : lockDatabase(config.databaseUrl)
  if (config.workers.own === null) await withPortErrors(config, () => assertPortFree(config))
  const gateway = await openGateway(config)
  const { worker } = gateway
  await gateway.containers?.check()
  if (isPostgresUrl(config.databaseUrl)) adoptSpooledCharges(config, gateway.log)
  await openLedger(gateway)
  const initialCredits = nanosFromUsd(config.initialCredits) ?? 0n
  const start = await bootstrapOrganization(gateway, { ...config, initialCredits })
  await applyLimitSettings(gateway, gateway.settings, describeServer(gateway))
  await syncEnvironmentKey(gateway, config.managementKey)
  await sendHeartbeat(gateway)
  await assertKnownSchema(gateway.db).catch((error: unknown) => {
    throw databaseError(error)
  })
  await settleOrphanedHolds(gateway)
  await recordServerEvent(gateway, 'server.start', { version })
  assertNoNewerHolds(gateway)
  if (!isPostgresUrl(config.databaseUrl)) {
    await releaseLeases(gateway.db)
    await releaseDeliveryLeases(gateway.db)
    await releaseAuditLeases(gateway.db)
  }
  // Before the startup message: a supervisor may send a signal as soon as it reads it.
  const stopped = worker ? worker.stopRequested : waitForStopSignal()
  if (worker) reportToSupervisor(gateway, worker)
  else process.on('SIGHUP', () => void reloadGateway(gateway))
  const server = await withPortErrors(config, async () => startServer(gateway))
  const port = worker ? config.port : (server.port ?? config.port)
  const site = resolveSiteUrl({ config, settings: gateway.settings, port })
  const message = formatStartupMessage(site, start)
  if (worker) await worker.announceReady(message)
  else process.stdout.write(message)
  writeFileSync(siteFilePath(config.dataDir), site)
  const stopJobs = startJobs(gateway)
  if ((await stopped) === 'replace') await handOverClients(gateway)
  else await waitForBalancers(gateway)
  await shutDown(gateway, server, stopJobs)
  await worker?.announceEnd()
  unlockDatabase?.()
  unlockDataDir()
}

function reportToSupervisor(gateway: Gateway, worker: WorkerLink): void {
  worker.report({
    reload: () => void reloadGateway(gateway),
    isReady: () => isReady(gateway),
    collectMetrics: () => gateway.metrics.collect(),
  })
}

async function openLedger({ ledger }: Gateway): Promise<void> {
  try {
    await ledger.open()
  } catch (error) {
    if (error instanceof JournalError) throw new ConfigError(error.message)
    throw error
  }
}

/** Rejects open holds of a newer version. With a shared database, a node of that version settles them. */
function assertNoNewerHolds({ node, config }: Gateway): void {
  if (node.newerFormatHolds === 0 || isPostgresUrl(config.databaseUrl)) return
  throw new ConfigError(
    `${node.newerFormatHolds} open holds were written by a newer version of Headgate. Start and stop that version once to settle them, then start this one.`,
  )
}

async function withPortErrors<T>({ host, port }: Config, open: () => Promise<T>): Promise<T> {
  try {
    return await open()
  } catch (error) {
    throw new ConfigError(`Cannot listen on ${host}:${port}: ${rootCauseMessage(error)}`)
  }
}
