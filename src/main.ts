import { pino } from 'pino'
import { firstStart, syncEnvironmentKey, vaultFits } from './account/bootstrap.ts'
import { operations, pages } from './areas/all.ts'
import { sweepFiles } from './areas/files/disk.ts'
import { buildCatalog } from './catalog/catalog.ts'
import { type Config, ConfigError } from './config.ts'
import { lockDataDir, masterSecret, prepareDataDir } from './data-dir.ts'
import { migrate, openDb } from './db/db.ts'
import type { Gateway } from './gateway.ts'
import { nanosFromUsd } from './ledger/money.ts'
import { type Clock, systemClock } from './lib/clock.ts'
import { Vault } from './lib/secret.ts'
import { Metrics } from './metrics.ts'
import { providers } from './providers/all.ts'
import { listen, type Server } from './server.ts'
import { readSettings } from './settings.ts'
import { systemPages } from './system.ts'
import { welcome } from './welcome.ts'

/** How long requests in flight may take to finish once the process was told to stop. */
const drainMs = 25_000

/** The parts, put together: the only place that knows them all. */
export async function openGateway(config: Config, clock: Clock = systemClock): Promise<Gateway> {
  const settings = readSettings(config)
  const catalog = buildCatalog({ settings, providers, environment: config.environment })
  prepareDataDir(config.dataDir)
  const vault = new Vault(masterSecret(config.dataDir, config.secretKey))
  const log = pino({ level: config.logLevel, base: null }, pino.destination(2))
  const db = openDb(config.databaseUrl)
  const gateway: Gateway = { config, db, clock, log, vault, metrics: new Metrics(), settings, catalog }
  try {
    await migrate(db)
    if (!(await vaultFits(db, vault))) {
      throw new ConfigError(
        'The secret key is not the one this database was sealed with; check HEADGATE_SECRET_KEY.',
      )
    }
    return gateway
  } catch (error) {
    await db.destroy()
    throw error
  }
}

export function serveGateway(gateway: Gateway): Server {
  return listen(gateway, operations, [...pages, ...systemPages(operations)])
}

/** Reads headgate.yaml again; a mistake in it leaves everything as it was. */
export function reload(gateway: Gateway): void {
  try {
    const settings = readSettings(gateway.config)
    const catalog = buildCatalog({ settings, providers, environment: gateway.config.environment })
    Object.assign(gateway, { settings, catalog })
    gateway.log.info('headgate.yaml reloaded')
  } catch (error) {
    gateway.log.error({ problem: error instanceof Error ? error.message : String(error) }, 'reload refused')
  }
}

/** Runs until told to stop. */
export async function serve(config: Config): Promise<void> {
  prepareDataDir(config.dataDir)
  const unlock = lockDataDir(config.dataDir)
  const gateway = await openGateway(config)
  const initialCredits = nanosFromUsd(config.initialCredits) ?? 0n
  const start = await firstStart(gateway.db, gateway.clock, { ...config, initialCredits })
  await syncEnvironmentKey(gateway.db, gateway.clock, config.managementKey)
  await sweepFiles(gateway)
  const server = startListening(gateway)
  process.stdout.write(
    welcome({ config, settings: gateway.settings, port: server.port ?? config.port, start }),
  )
  process.on('SIGHUP', () => reload(gateway))
  await stopSignal()
  await drain(gateway, server)
  unlock()
}

function startListening(gateway: Gateway): Server {
  try {
    return serveGateway(gateway)
  } catch (error) {
    const { host, port } = gateway.config
    throw new ConfigError(
      `Cannot listen on ${host}:${port}: ${error instanceof Error ? error.message : error}.`,
    )
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
  await promise
}

async function drain(gateway: Gateway, server: Server): Promise<void> {
  gateway.log.info('draining')
  const deadline = setTimeout(() => void server.stop(true), drainMs)
  await server.stop()
  clearTimeout(deadline)
  await gateway.db.destroy()
}
