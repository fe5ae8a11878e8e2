import type { ModelCall } from '../call/call.ts'
import type { ReplyEvent } from '../call/event.ts'

/** What a simulation may reach outside itself: nothing but time and the wish to stop. */
export interface SimulateOptions {
  signal: AbortSignal
  /** Rejects when the request is abandoned meanwhile. */
  sleep(ms: number): Promise<void>
  /** How long its reply may be. */
  maxBytes: number
}

/** Answers a call inside this process. `model` is the endpoint's upstream name. */
export type Simulator = (
  call: ModelCall,
  model: string,
  options: SimulateOptions,
) => AsyncGenerator<ReplyEvent>
