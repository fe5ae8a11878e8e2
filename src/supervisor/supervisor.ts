import type { Logger } from 'pino'
import { SharedMemory } from '../cluster/memory.ts'
import { type Config, ConfigError } from '../config.ts'
import type { MetricData } from '../gateway/exposition/metric-data.ts'
import type { Readiness, WorkerStatus } from '../gateway/worker-protocol.ts'
import { WorkerMetrics } from './worker-metrics.ts'
import { WorkerProcess } from './worker-process.ts'

/** Delay of a restart after a crash; it doubles while the worker ends again soon. */
const backOffMs = { first: 100, last: 30_000 }
/** A worker that has run for this long has not crashed because of its start. */
const stableMs = 60_000
/** Ends in a row, soon after the start of each worker, after which the server ends: whatever runs it has to know. */
const maxFailedStarts = 5

/** The place of a worker, which several processes have in turn. */
interface Slot {
  number: number
  process: WorkerProcess | null
  restarts: number
  /** Ends soon after the start, in a row. */
  failures: number
}

interface SupervisorOptions {
  config: Config
  log: Logger
  /** The listening socket of all workers. */
  socket: { fd: number; port: number; close(): void }
}

/** Starts the workers of a server, and others in their place. What workers share is in its memory. */
export class Supervisor {
  readonly #config: Config
  readonly #log: Logger
  readonly #socket: SupervisorOptions['socket']
  readonly #slots: Slot[]
  readonly #memory = new SharedMemory()
  readonly #metrics = new WorkerMetrics()
  readonly #failed = Promise.withResolvers<void>()
  #hasStarted = false
  #isStopping = false
  #isRestarting = false

  constructor({ config, log, socket }: SupervisorOptions) {
    this.#config = config
    this.#log = log
    this.#socket = socket
    this.#slots = Array.from({ length: config.workers.count }, (_, index) => ({
      number: index + 1,
      process: null,
      restarts: 0,
      failures: 0,
    }))
  }

  /** Resolves when no worker can be started. */
  get failed(): Promise<void> {
    return this.#failed.promise
  }

  /** Starts the first worker, which prepares the database, then the others. */
  async start(onFirst: (message: string) => void): Promise<void> {
    const [first, ...others] = this.#slots
    if (first) onFirst(await this.#startFirstTime(first))
    await Promise.all(others.map((slot) => this.#startFirstTime(slot)))
    this.#hasStarted = true
    this.#log.info({ workers: this.#slots.length }, 'workers started')
    // One that has crashed while others started.
    for (const slot of this.#slots) if (!slot.process && !this.#isStopping) this.#restartLater(slot)
  }

  reload(): void {
    for (const { process } of this.#slots) if (process?.state === 'running') process.reload()
  }

  /** Replaces one worker at a time. The others accept connections meanwhile. */
  async restartWorkers(): Promise<void> {
    if (!this.#hasStarted || this.#isRestarting || this.#isStopping) {
      this.#log.warn('workers are not restarted: another start, restart or stop is in progress')
      return
    }
    this.#isRestarting = true
    this.#log.info('restarting the workers, one at a time')
    try {
      for (const slot of this.#slots) await this.#replace(slot)
      this.#log.info('workers restarted')
    } catch (error) {
      if (!this.#isStopping)
        this.#log.error({ problem: messageOf(error) }, 'restart of the workers ended early')
    } finally {
      this.#isRestarting = false
    }
  }

  /** Drains all workers at the same time. */
  async stop(): Promise<void> {
    this.#isStopping = true
    // The workers accept connections until they close it too.
    this.#socket.close()
    const processes = this.#slots.flatMap(({ process }) => process ?? [])
    for (const process of processes) process.stop('stop')
    await Promise.all(processes.map(({ exited }) => exited))
  }

  kill(): void {
    for (const { process } of this.#slots) process?.kill()
  }

  describeWorkers(): WorkerStatus[] {
    return this.#slots.map(({ number, process, restarts }) => ({
      number,
      state: process?.state ?? 'stopped',
      pid: process?.pid ?? null,
      started_at: process?.startedAt.toISOString() ?? null,
      restarts,
    }))
  }

  /** Ready while at least one worker accepts connections, and each that does can serve requests. */
  async readReadiness(): Promise<Readiness> {
    if (this.#isStopping) return 'draining'
    const running = this.#slots.flatMap(({ process }) => (process?.state === 'running' ? [process] : []))
    const answers = await Promise.all(running.map((process) => process.isReady()))
    return answers.length > 0 && answers.every(Boolean) ? 'ready' : 'not_ready'
  }

  async readMetrics(): Promise<MetricData[]> {
    const processes = this.#slots.flatMap(({ process }) => process ?? [])
    await Promise.all(processes.map((process) => process.readMetrics()))
    // Of those that have not ended meanwhile: the counts of others are retained.
    const current = this.#slots.flatMap(({ process }) => (process ? [process.metrics] : []))
    return this.#metrics.combine(this.describeWorkers(), current)
  }

  async #startFirstTime(slot: Slot): Promise<string> {
    try {
      return await this.#start(slot).ready
    } catch (error) {
      throw new ConfigError(`Worker ${slot.number} did not start (${messageOf(error)}).`)
    }
  }

  #start(slot: Slot): WorkerProcess {
    const worker = new WorkerProcess({
      config: this.#config,
      number: slot.number,
      socket: this.#socket,
      memory: this.#memory,
      reports: {
        describeWorkers: () => this.describeWorkers(),
        readReadiness: () => this.readReadiness(),
        readMetrics: () => this.readMetrics(),
      },
    })
    slot.process = worker
    const started = performance.now()
    void worker.ready.then(
      () => this.#log.info({ worker: slot.number, pid: worker.pid }, 'worker started'),
      () => undefined,
    )
    void worker.exited.then((reason) => {
      slot.process = null
      this.#metrics.retain(worker.metrics)
      if (worker.wasStopped || this.#isStopping) return
      slot.failures = performance.now() - started < stableMs ? slot.failures + 1 : 0
      this.#log.error({ worker: slot.number, reason }, 'a worker ended unexpectedly')
      if (this.#hasStarted) this.#restartLater(slot)
    })
    return worker
  }

  #restartLater(slot: Slot): void {
    if (this.#slots.every(isHopeless)) this.#failed.resolve()
    const doubled = backOffMs.first * 2 ** Math.max(0, slot.failures - 1)
    setTimeout(
      () => {
        if (this.#isStopping || slot.process) return
        slot.restarts++
        this.#start(slot)
      },
      Math.min(backOffMs.last, doubled),
    )
  }

  async #replace(slot: Slot): Promise<void> {
    const { process } = slot
    // One that is not running is started again anyway.
    if (process?.state !== 'running') return
    process.stop('replace')
    await process.exited
    if (this.#isStopping) throw new Error('the server stops')
    slot.restarts++
    await this.#start(slot).ready
  }
}

function isHopeless({ process, failures }: Slot): boolean {
  return failures >= maxFailedStarts && process?.state !== 'running'
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
