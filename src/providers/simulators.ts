import type { Call } from '../call/call.ts'
import type { ReplyEvent } from '../call/event.ts'
import { simulate } from './sandbox/simulate.ts'

/** What a simulation may reach outside itself: nothing but time and the wish to stop. */
export interface SimulateOptions {
  signal: AbortSignal
  sleep(ms: number): Promise<void>
}

/** Answers a call inside this process. `model` is the endpoint's upstream name. */
export type Simulate = (call: Call, model: string, options: SimulateOptions) => AsyncGenerator<ReplyEvent>

/** By provider slug, for the providers whose `inProcess` is set. */
export const simulators: ReadonlyMap<string, Simulate> = new Map([['sandbox', simulate]])
