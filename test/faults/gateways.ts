import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { SQL } from 'bun'
import { parse } from 'yaml'
import { runtimeSettings } from '../../scripts/runtime-settings.mjs'
import { newId } from '../../src/platform/crypto/ids.ts'
import { createMigratedDatabase, createMigratedFile, type TestDatabase } from '../support/databases.ts'
import type { DatabaseKind } from '../support/harness.ts'
import { Clients } from './clients.ts'
import { isLong } from './options.ts'
import { type RunTotals, readLedgerSnapshot, reconcileBooks } from './reconciliation.ts'
import { buildSettings, startVendor, type Vendor } from './vendor.ts'

const managementKey = 'management-key-of-the-fault-suite'

/** One run: a vendor, clients with their log, and an installation that outlives its processes. */
export class FaultScenario {
  readonly vendor: Vendor = startVendor()
  readonly clients = new Clients()
  readonly databaseUrl: string
  /** Silence after which a node counts as dead; null for the default. */
  silentMs: number | null = null
  /** A kill point written to it ends the next process there; see kill-points.ts. */
  readonly killFile: string
  readonly #folder = mkdtempSync(join(tmpdir(), 'headgate-faults-'))
  readonly #settings: string
  readonly #running = new Set<GatewayProcess>()

  /** Time after which the jobs of a node are taken over; null for the default. */
  leaseMs: number | null = null

  /** Uses SQLite unless a URL is given. */
  constructor(databaseUrl?: string, settings?: string) {
    this.#settings = join(this.#folder, 'headgate.yaml')
    this.killFile = join(this.#folder, 'kill')
    this.databaseUrl = databaseUrl ?? join(this.#folder, 'headgate.sqlite')
    writeFileSync(this.#settings, addDefaults(settings ?? buildSettings(this.vendor)))
    writeFileSync(this.killFile, '')
  }

  /** Each node of an installation has its own data directory. */
  async start(node = 'first', program?: string[]): Promise<GatewayProcess> {
    const gateway = this.launch(node, program)
    await gateway.ready
    return gateway
  }

  launch(node = 'first', program?: string[]): GatewayProcess {
    const gateway = new GatewayProcess(this.#environmentOf(node), program)
    this.#running.add(gateway)
    void gateway.exited.then(() => this.#running.delete(gateway))
    return gateway
  }

  /** Runs a command of the node, until it has ended or is killed. */
  command(node: string, command: string[]): Bun.Subprocess<'ignore', 'pipe', 'pipe'> {
    return Bun.spawn(command, {
      cwd: tmpdir(),
      env: { ...baseEnvironment(), ...this.#environmentOf(node) },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
  }

  #environmentOf(node: string): Record<string, string> {
    const dataDir = join(this.#folder, node)
    mkdirSync(dataDir, { recursive: true })
    const isFile = this.databaseUrl.startsWith('/')
    return {
      HEADGATE_DATA_DIR: dataDir,
      HEADGATE_CONFIG: this.#settings,
      HEADGATE_KILL_FILE: this.killFile,
      ...(this.silentMs !== null && { HEADGATE_SILENT_MS: String(this.silentMs) }),
      ...(this.leaseMs !== null && { HEADGATE_LEASE_MS: String(this.leaseMs) }),
      DATABASE_URL: isFile ? `sqlite:${this.databaseUrl}` : this.databaseUrl,
    }
  }

  /** Counts the settlements of a node that are on disk and not in the database. */
  countUnsent(node = 'first'): number {
    const folder = join(this.#folder, node)
    const names = readdirSync(folder).filter((name) => name.startsWith('unsent-ledger-'))
    const text = names.map((name) => readFileSync(join(folder, name), 'utf8')).join('')
    return text.match(/\bsettle gen-/g)?.length ?? 0
  }

  /** The totals; throws unless vendor, clients and ledger agree. */
  async reconcile(): Promise<RunTotals> {
    await this.vendor.idle()
    // A request about money flushes the journal.
    for (const gateway of this.#running) if (gateway.url) await gateway.manage('GET', '/credits')
    const ledger = await readLedgerSnapshot(this.databaseUrl)
    const { problems, totals } = reconcileBooks(this.vendor.records, this.clients.log, ledger)
    if (problems.length > 0) {
      const logs = [...this.#running].map(({ log }) => log).join('\n')
      throw new Error(`${problems.length} problems:\n${problems.slice(0, 20).join('\n')}\n${logs}`)
    }
    return totals
  }

  async close(): Promise<void> {
    for (const gateway of this.#running) await gateway.kill()
    await this.vendor.stop()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** Adds settings without which every stop would wait for balancers. */
function addDefaults(settings: string): string {
  const parsed = parse(settings) as { limits?: object }
  return JSON.stringify({ ...parsed, limits: { drain_delay: 0, ...parsed.limits } })
}

/** The gateway with its kill points: compiled, if `npm test` did so, or from source. */
function findProgram(): string[] {
  const program = process.env.TEST_FAULT_PROGRAM
  if (program) return [program]
  const preload = join(import.meta.dir, 'kill-points.ts')
  return [process.execPath, '--no-env-file', '--preload', preload, resolve('src/cli.ts')]
}

/** Compiling hot functions takes a third of the CPU time of a process that serves a few requests. */
const shortLived = { BUN_JSC_useDFGJIT: 'false' }

function baseEnvironment(): Record<string, string | undefined> {
  return {
    PATH: process.env.PATH ?? '',
    HOME: process.env.HOME ?? '',
    PORT: '0',
    LOG_LEVEL: 'warn',
    ...runtimeSettings,
    ...(!isLong && shortLived),
    HEADGATE_MANAGEMENT_KEY: managementKey,
    HEADGATE_SECRET_KEY: 'secret-key-of-the-fault-suite',
    HEADGATE_INITIAL_CREDITS: '100000',
    TEST_FAULT_PROGRAM: process.env.TEST_FAULT_PROGRAM,
  }
}

/** A gateway in a separate process, which can be killed. */
export class GatewayProcess {
  readonly #process: Bun.Subprocess<'ignore', 'pipe', 'pipe'>
  /** Resolves once it accepts requests. */
  readonly ready: Promise<void>
  log = ''
  url = ''

  constructor(environment: Record<string, string>, program = findProgram()) {
    this.#process = Bun.spawn([...program, 'serve'], {
      cwd: tmpdir(),
      env: { ...baseEnvironment(), ...environment },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    void this.#collect(this.#process.stderr)
    this.ready = this.#waitUntilReady()
    // A process that is killed during its start never becomes ready.
    this.ready.catch(() => undefined)
  }

  async #collect(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder()
    for await (const chunk of stream) this.log += decoder.decode(chunk, { stream: true })
  }

  async #waitUntilReady(): Promise<void> {
    const decoder = new TextDecoder()
    let text = ''
    for await (const chunk of this.#process.stdout) {
      text += decoder.decode(chunk, { stream: true })
      this.url = /Base URL: (\S+)\/api\/v1/.exec(text)?.[1] ?? ''
      if (this.url) return
    }
    throw new Error(`the gateway did not start: ${text}${this.log}`)
  }

  get pid(): number {
    return this.#process.pid
  }
  get exited(): Promise<number> {
    return this.#process.exited
  }
  get wasKilled(): boolean {
    return this.#process.signalCode === 'SIGKILL'
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#process.exited
  }

  /** Stops the process, as when a virtual machine is migrated, until `resume`. */
  pause(): void {
    this.#process.kill('SIGSTOP')
  }

  resume(): void {
    this.#process.kill('SIGCONT')
  }

  async stop(): Promise<void> {
    this.#process.kill('SIGTERM')
    await this.#process.exited
  }

  /** Calls the API with the management key. */
  fetch(path: string, method = 'GET', body?: unknown): Promise<Response> {
    return fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${managementKey}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  }

  async manage(method: string, path: string, body?: unknown) {
    const response = await this.fetch(path, method, body)
    return (await response.json()) as { key: string; data: Record<string, number | string> }
  }

  /** The secret of a new key. */
  async createKey(limit: number | null = null): Promise<string> {
    return (await this.manage('POST', '/keys', { name: 'faults', limit })).key
  }
}

const openScenarios: { close: () => Promise<void> }[] = []

/**
 * A scenario with its own database, until `closeScenarios`. The schema is copied from a template, since migrations take
 * as long as the rest of a start; on another server than that of the run the first process creates it.
 */
export async function createScenario(
  kind: DatabaseKind,
  serverUrl?: string,
  settings?: string,
): Promise<FaultScenario> {
  const database = kind === 'postgres' ? await prepareDatabase(serverUrl) : null
  const scenario = new FaultScenario(database?.url, settings)
  if (!database) await createMigratedFile(scenario.databaseUrl)
  openScenarios.push({
    close: async () => {
      await scenario.close()
      await database?.drop()
    },
  })
  return scenario
}

export async function closeScenarios(): Promise<void> {
  await Promise.all(openScenarios.splice(0).map(({ close }) => close()))
}

function prepareDatabase(serverUrl?: string): Promise<TestDatabase> {
  return serverUrl === undefined ? createMigratedDatabase() : createEmptyDatabase(serverUrl)
}

async function createEmptyDatabase(serverUrl: string): Promise<TestDatabase> {
  const name = newId('faults')
  const admin = new SQL(serverUrl, { max: 1 })
  await admin.unsafe(`create database ${name}`)
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return {
    url: url.href,
    drop: async () => {
      await admin.unsafe(`drop database ${name} with (force)`)
      await admin.close({ timeout: 1 })
    },
  }
}
