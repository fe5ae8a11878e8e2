import { createClusterHost } from '../cluster/host.ts'
import type { SharedMemory } from '../cluster/memory.ts'
import { workerVariable } from '../config/workers.ts'
import { type Config, readVariables } from '../config.ts'
import type { MetricData } from '../gateway/exposition/metric-data.ts'
import type { StopKind, SupervisorCalls, WorkerCalls, WorkerState } from '../gateway/worker-protocol.ts'
import { Peer } from '../platform/process/peer.ts'

/** A worker that takes longer to say something about itself is busy or frozen. */
const reportTimeoutMs = 2000

interface WorkerOptions {
  config: Config
  number: number
  socket: { fd: number; port: number }
  memory: SharedMemory
  /** What the worker may ask about all of them. */
  reports: Pick<SupervisorCalls, 'describeWorkers' | 'readReadiness' | 'readMetrics'>
}

/** One worker from its start to its end. */
export class WorkerProcess {
  readonly startedAt = new Date()
  /** Resolves with its message for the operator once it accepts connections; rejects if it ends before. */
  readonly ready: Promise<string>
  /** Resolves once it has ended, with the reason. */
  readonly exited: Promise<string>
  state: WorkerState = 'starting'
  /** Its end was requested. */
  wasStopped = false
  /** As last known: its counts must not be lost when it crashes. */
  metrics: MetricData[] = []
  readonly #process: Bun.Subprocess
  readonly #peer: Peer<WorkerCalls>

  constructor({ config, number, socket, memory, reports }: WorkerOptions) {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    this.ready = promise
    const { host, close } = createClusterHost(memory, (...args) => this.#peer.notify('deliver', ...args))
    const offered: SupervisorCalls = {
      ...host,
      ...reports,
      ready: (message) => {
        this.state = this.state === 'starting' ? 'running' : this.state
        resolve(message)
      },
      ended: (metrics) => {
        this.metrics = metrics
      },
    }
    this.#process = spawnWorker(config, number, socket, (message) => this.#peer.receive(message))
    this.#peer = new Peer<WorkerCalls>((message) => this.#send(message), offered)
    this.exited = this.#process.exited.then(async (code) => {
      this.state = 'stopped'
      this.#peer.close()
      await close()
      const reason = `${this.#process.signalCode ?? `exit code ${code}`}`
      reject(new Error(reason))
      return reason
    })
    // A caller may only be interested in its end.
    this.ready.catch(() => undefined)
  }

  get pid(): number {
    return this.#process.pid
  }

  stop(kind: StopKind): void {
    if (this.state === 'stopped') return
    this.wasStopped = true
    if (this.state === 'starting') {
      // It does not listen to messages yet.
      this.kill()
    } else {
      this.state = 'draining'
      this.#peer.notify('stop', kind)
    }
  }

  kill(): void {
    this.#process.kill('SIGKILL')
  }

  reload(): void {
    this.#peer.notify('reload')
  }

  async isReady(): Promise<boolean> {
    return this.#peer.call('isReady', reportTimeoutMs).catch(() => false)
  }

  /** Its metrics, or those that it had when it last answered. */
  async readMetrics(): Promise<MetricData[]> {
    const metrics = await this.#peer.call('collectMetrics', reportTimeoutMs).catch(() => null)
    // It may have sent its last ones meanwhile.
    if (metrics && this.state !== 'stopped') this.metrics = metrics
    return this.metrics
  }

  /** The channel may have closed a moment ago. */
  #send(message: unknown): void {
    try {
      this.#process.send(message)
    } catch {
      this.#peer.close()
    }
  }
}

function spawnWorker(
  config: Config,
  number: number,
  { fd, port }: { fd: number; port: number },
  receive: (message: unknown) => void,
): Bun.Subprocess {
  return Bun.spawn(command(), {
    stdio: ['ignore', 'inherit', 'inherit', fd],
    ipc: receive,
    serialization: 'json',
    env: {
      ...readVariables(),
      PORT: String(port),
      HEADGATE_WORKERS: String(config.workers.count),
      [workerVariable]: String(number),
    },
  })
}

/** A compiled program is its own runtime. */
function command(): string[] {
  const isCompiled = Bun.main.startsWith('/$bunfs/')
  return isCompiled ? [process.execPath, 'serve'] : [process.execPath, ...process.execArgv, Bun.main, 'serve']
}
