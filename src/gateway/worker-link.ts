import type { Logger } from 'pino'
import { WorkerCluster } from '../cluster/worker.ts'
import type { WorkersConfig } from '../config/workers.ts'
import { ConfigError } from '../config.ts'
import { replaceListener } from '../platform/process/listening-socket.ts'
import { Peer } from '../platform/process/peer.ts'
import type { MetricData } from './exposition/metric-data.ts'
import type { Readiness, StopKind, SupervisorCalls, WorkerCalls, WorkerStatus } from './worker-protocol.ts'

/** The descriptor of the listening socket that a worker inherits. */
export const inheritedSocket = 3

/** Longer than any worker takes for its metrics or its readiness. */
const reportTimeoutMs = 5000

/** What only an open gateway can answer. */
export type WorkerReports = Pick<WorkerCalls, 'isReady' | 'collectMetrics' | 'reload'>

/** This process as one of the workers that serve a port, and the process that started them. */
export class WorkerLink {
  /** Resolves when this worker has to stop. */
  readonly stopRequested: Promise<StopKind>
  readonly cluster: WorkerCluster
  readonly #supervisor: Peer<SupervisorCalls>
  #reports: WorkerReports = {
    isReady: async () => false,
    collectMetrics: async () => [],
    reload: () => undefined,
  }
  #stopAccepting: () => void = () => undefined

  constructor(workers: number, log: Logger, send: (message: unknown) => void) {
    const { promise, resolve } = Promise.withResolvers<StopKind>()
    this.stopRequested = promise
    const offered: WorkerCalls = {
      stop: resolve,
      reload: () => this.#reports.reload(),
      deliver: (channel, message) => this.cluster.receive(channel, message),
      isReady: () => this.#reports.isReady(),
      collectMetrics: () => this.#reports.collectMetrics(),
    }
    this.#supervisor = new Peer<SupervisorCalls>(send, offered)
    this.cluster = new WorkerCluster({ host: this.#supervisor, workers, log })
    process.on('message', (message) => this.#supervisor.receive(message))
    process.on('disconnect', () => {
      this.#supervisor.close()
      resolve('stop')
    })
    // Sent to the whole process group: the supervisor gets them too, and decides.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  }

  /** Sets what answers the supervisor from now on. */
  report(reports: WorkerReports): void {
    this.#reports = reports
  }

  /** Accepts the connections of the port that all workers share. */
  acceptWith(server: { readonly port?: number | undefined }): void {
    this.#stopAccepting = replaceListener(server, inheritedSocket)
  }

  /** Leaves new connections to the other workers. */
  stopAccepting(): void {
    this.#stopAccepting()
  }

  async announceReady(message: string): Promise<void> {
    await this.#supervisor.call('ready', reportTimeoutMs, message)
  }

  /** Hands over the counts of this process, which would end with it. The supervisor may have ended. */
  async announceEnd(): Promise<void> {
    const metrics = await this.#reports.collectMetrics()
    await this.#supervisor.call('ended', reportTimeoutMs, metrics).catch(() => undefined)
  }

  readReadiness(): Promise<Readiness> {
    return this.#supervisor.call('readReadiness', reportTimeoutMs)
  }

  describeWorkers(): Promise<WorkerStatus[]> {
    return this.#supervisor.call('describeWorkers', reportTimeoutMs)
  }

  /** Of all workers. */
  readMetrics(): Promise<MetricData[]> {
    return this.#supervisor.call('readMetrics', reportTimeoutMs)
  }
}

export function openWorkerLink(workers: WorkersConfig, log: Logger): WorkerLink {
  const send = process.send?.bind(process)
  if (!send)
    throw new ConfigError(
      'HEADGATE_WORKER is set by the server for its own processes. Remove it from the environment.',
    )
  return new WorkerLink(workers.count, log, (message) => void send(message))
}
