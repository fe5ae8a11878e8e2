import type { ModelCall } from '../call/call.ts'
import type { ReplyEvent } from '../call/event.ts'

/** The environment of a simulation: time, cancellation and a size limit. */
export interface SimulateOptions {
  signal: AbortSignal
  /** Rejects when the request is cancelled. */
  sleep(ms: number): Promise<void>
  /** The maximum size of the reply. */
  maxBytes: number
}

/** Generates a reply inside this process. `model` is the endpoint's upstream name. */
export type Simulator = (
  call: ModelCall,
  model: string,
  options: SimulateOptions,
) => AsyncGenerator<ReplyEvent>
