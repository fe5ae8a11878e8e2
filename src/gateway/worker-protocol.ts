import type { ClusterHost } from '../cluster/host.ts'
import type { MetricData } from './exposition/metric-data.ts'

export type WorkerState = 'starting' | 'running' | 'draining' | 'stopped'

/** A worker as operators see it. */
export interface WorkerStatus {
  number: number
  state: WorkerState
  /** Null while it is stopped. */
  pid: number | null
  started_at: string | null
  /** How often it was started again, after a crash or on request. */
  restarts: number
}

export type Readiness = 'ready' | 'not_ready' | 'draining'

/** `replace`: the other workers go on, and another process takes its place. */
export type StopKind = 'stop' | 'replace'

/** What the process that starts the workers offers them. */
export interface SupervisorCalls extends ClusterHost {
  /** It accepts connections. The message is for the operator who has started the server. */
  ready(message: string): void
  /** It has stopped orderly, with these counts. */
  ended(metrics: MetricData[]): void
  describeWorkers(): WorkerStatus[]
  /** Of all workers together. */
  readReadiness(): Promise<Readiness>
  /** Of all workers together. */
  readMetrics(): Promise<MetricData[]>
}

/** What a worker offers. */
export interface WorkerCalls {
  stop(kind: StopKind): void
  reload(): void
  deliver(channel: string, message: string): void
  isReady(): Promise<boolean>
  collectMetrics(): Promise<MetricData[]>
}
