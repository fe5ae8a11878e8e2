import { writeFileSync } from 'node:fs'
import { type Logger, pino } from 'pino'
import { firstStart, syncEnvironmentKey, vaultFits } from './account/bootstrap.ts'
import { ResponseQuota } from './account/response-quota.ts'
import { operations, pages } from './areas/all.ts'
import { readEdits } from './catalog/store.ts'
import { type Config, ConfigError } from './config.ts'
import {
  exposedSecretFile,
  lockDatabase,
  lockDataDir,
  masterSecret,
  prepareDataDir,
  siteFile,
} from './data-dir.ts'
import { closeDb, type Db, isPostgresUrl, openDb, readAfter } from './db/db.ts'
import { PostgresBatches } from './db/postgres-batches.ts'
import { upgrade } from './db/upgrade.ts'
import type { Gateway } from './gateway.ts'
import { giveSign, settleOrphans, startJobs } from './jobs.ts'
import type { Engine } from './ledger/engine.ts'
import { Ledger } from './ledger/ledger.ts'
import { nanosFromUsd } from './ledger/money.ts'
import { liveness, Node } from './ledger/recovery.ts'
import { RollUpThread } from './ledger/rollups/thread.ts'
import { JournalError } from './ledger/segment.ts'
import { SharedEngine } from './ledger/shared-engine.ts'
import { SoleEngine } from './ledger/sole-engine.ts'
import { Spool } from './ledger/spool.ts'
import { BackgroundRuns } from './lib/background.ts'
import { ByteCache } from './lib/byte-cache.ts'
import { type Clock, RemoteClock, systemClock } from './lib/clock.ts'
import { Origins } from './lib/origins.ts'
import { Pulse } from './lib/pulse.ts'
import { MinuteRate } from './lib/rate.ts'
import { Vault } from './lib/secret.ts'
import { Slots } from './lib/slots.ts'
import { Turns } from './lib/turns.ts'
import { Memory } from './memory.ts'
import { Metrics } from './metrics.ts'
import { compose, reloadSettings, tellProblems } from './reload.ts'
import { Routing } from './routing/routing.ts'
import { listen, requireFreePort, type Server } from './server.ts'
import { readSettings } from './settings.ts'
import { Grants } from './sign-in/service-account.ts'
import { systemPages } from './system.ts'
import { siteUrl, welcome } from './welcome.ts'

/** How long replies that were cut may take to be settled and sent. */
const cutMs = 5000
const mostDrains = 100

/** The parts, put together: the only place that knows them all. */
export async function openGateway(
  config: Config,
  clock: Clock = clockFor(config),
  answerMs?: number,
): Promise<Gateway> {
  const settings = readSettings(config)
  prepareDataDir(config.dataDir)
  const vault = new Vault(masterSecret(config.dataDir, config.secretKey))
  const log = pino(
    { level: config.logLevel, base: null, serializers: { err: loggedError } },
    pino.destination(2),
  )
  const exposed = exposedSecretFile(config.dataDir, config.secretKey)
  if (exposed) log.warn(`${exposed} can be read by other users; run: chmod 600 ${exposed}`)
  const db = await openDatabase(config.databaseUrl, { vault, log, answerMs })
  const composed = compose({ config, settings, vault }, await readEdits(db))
  tellProblems({ log, edits: composed.edits })
  warnOfUseless({ log, catalog: composed.catalog })
  const metrics = new Metrics()
  const ledger = new Ledger(engineFor(config, clock, log), clock, log)
  readAfter(db, () => ledger.caughtUp())
  const responseCache = new ByteCache()
  metrics.watch(ledger)
  metrics.watchCache(responseCache)
  return {
    config,
    db,
    clock,
    log,
    vault,
    metrics,
    memory: new Memory(db),
    ledger,
    node: new Node(!isPostgresUrl(config.databaseUrl)),
    rollUps: new RollUpThread(config.databaseUrl),
    pulse: new Pulse(),
    turns: new Turns(),
    rates: new MinuteRate(),
    routing: new Routing(),
    origins: new Origins(),
    grants: new Grants(clock),
    drains: new Slots(mostDrains),
    exchanges: new Set(),
    responseCache,
    background: new BackgroundRuns(),
    responseQuota: new ResponseQuota(db, (err) => log.warn({ err }, 'stored responses not trimmed')),
    settings,
    ...composed,
  }
}

/** A credential that cannot be used may be there for other programs: it stops nothing. */
function warnOfUseless({ catalog, log }: Pick<Gateway, 'catalog' | 'log'>): void {
  for (const { slug, installed } of catalog.providers) {
    if (installed.problem !== null)
      log.warn({ provider: slug, problem: installed.problem }, 'credential not used')
  }
}

function engineFor({ databaseUrl, dataDir }: Config, clock: Clock, log: Logger): Engine {
  return isPostgresUrl(databaseUrl)
    ? new SharedEngine(new PostgresBatches(databaseUrl), new Spool(dataDir, log))
    : new SoleEngine(databaseUrl, clock, log)
}

/** Windows follow the clock of the database, where several nodes share one. */
function clockFor({ databaseUrl }: Config): Clock {
  return isPostgresUrl(databaseUrl) ? new RemoteClock() : systemClock
}

/** Migrated, and sealed with this very key. */
async function openDatabase(
  url: string,
  { vault, log, answerMs }: { vault: Vault; log: Logger; answerMs: number | undefined },
): Promise<Db> {
  let db: Db | undefined
  try {
    db = openDb(url, answerMs)
    await upgrade(db, { url, silentMs: liveness.silentMs, log })
    if (await vaultFits(db, vault)) return db
  } catch (error) {
    if (db) await closeDb(db)
    throw new ConfigError(`The database cannot be used: ${innermost(error)}`)
  }
  await closeDb(db)
  throw new ConfigError(
    'The secret key is not the one this database was sealed with; check HEADGATE_SECRET_KEY.',
  )
}

/** What is needed to find a fault: other properties of an error may hold what a client sent. */
export function loggedError(error: unknown) {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name, message, stack } = error
  return { name, message, stack, ...('code' in error && { code: error.code }) }
}

export function innermost(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause ? innermost(error.cause) : error.message
}

export function startServing(gateway: Gateway): Server {
  return listen(gateway, operations, [...pages, ...systemPages(operations)])
}

/** Reads headgate.yaml again; a mistake in it leaves everything as it was. */
export function reload(gateway: Gateway): void {
  try {
    reloadSettings(gateway)
    warnOfUseless(gateway)
    gateway.log.info('headgate.yaml reloaded')
  } catch (error) {
    gateway.log.error({ problem: innermost(error) }, 'reload refused')
  }
}

/** Runs until told to stop. The port is tried before anything is made: the keys of the first start are shown once. */
export async function serve(config: Config): Promise<void> {
  prepareDataDir(config.dataDir)
  const unlockDataDir = lockDataDir(config.dataDir)
  const unlockDatabase = isPostgresUrl(config.databaseUrl) ? null : lockDatabase(config.databaseUrl)
  await withPort(config, () => requireFreePort(config))
  const gateway = await openGateway(config)
  await openLedger(gateway)
  const initialCredits = nanosFromUsd(config.initialCredits) ?? 0n
  const start = await firstStart(gateway.db, gateway.clock, { ...config, initialCredits })
  await syncEnvironmentKey(gateway.db, gateway.clock, config.managementKey)
  await giveSign(gateway)
  await settleOrphans(gateway)
  refuseNewerHolds(gateway)
  // Before anybody is told that it runs: whoever was told may send a signal at once.
  const stopped = stopSignal()
  process.on('SIGHUP', () => reload(gateway))
  const server = await withPort(config, async () => startServing(gateway))
  const site = siteUrl({ config, settings: gateway.settings, port: server.port ?? config.port })
  process.stdout.write(welcome(site, start))
  writeFileSync(siteFile(config.dataDir), site)
  startJobs(gateway)
  await stopped
  await stop(gateway, server)
  unlockDatabase?.()
  unlockDataDir()
}

async function openLedger({ ledger }: Gateway): Promise<void> {
  try {
    await ledger.open()
  } catch (error) {
    if (error instanceof JournalError) throw new ConfigError(error.message)
    throw error
  }
}

/** Where nodes share a database, one of the newer version settles them. */
function refuseNewerHolds({ node, config }: Gateway): void {
  if (node.newerHolds === 0 || isPostgresUrl(config.databaseUrl)) return
  throw new ConfigError(
    `${node.newerHolds} unfinished requests were recorded by a newer version of Headgate: start that version once and stop it, then this one.`,
  )
}

async function withPort<T>({ host, port }: Config, open: () => Promise<T>): Promise<T> {
  try {
    return await open()
  } catch (error) {
    throw new ConfigError(`Cannot listen on ${host}:${port}: ${innermost(error)}`)
  }
}

/** A terminal sends Ctrl-C to every process of the group, so the same wish may arrive twice: only a later one insists. */
async function stopSignal(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let firstAt = 0
  const stop = () => {
    if (firstAt === 0) firstAt = Date.now()
    else if (Date.now() - firstAt > 1000) process.exit(130)
    resolve()
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  // The launcher is gone: nobody could stop this process any more.
  process.on('disconnect', stop)
  await promise
}

async function stop(gateway: Gateway, server: Server): Promise<void> {
  gateway.log.info('draining')
  const { drain } = gateway.settings.limits
  const cut = setTimeout(() => {
    for (const exchange of gateway.exchanges) exchange.stop()
  }, drain)
  const deadline = setTimeout(() => void server.stop(true), drain + cutMs)
  await Promise.all([server.stop(), gateway.background.drain(drain)])
  clearTimeout(cut)
  clearTimeout(deadline)
  await gateway.ledger.close()
  await gateway.node.leave(gateway.db).catch(() => undefined)
  await closeDb(gateway.db)
}
